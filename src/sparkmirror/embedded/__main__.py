"""`python -m sparkmirror.embedded [VERSION ...]`: gets Kafka ready here, so that later starts need no network.

Without a version the newest; `all` is all of them.
"""

from __future__ import annotations

import sys

from sparkmirror.embedded.distribution import prepare
from sparkmirror.embedded.versions import KAFKA_VERSION, VERSIONS
from sparkmirror.errors import SetupError


def main(names: list[str]) -> int:
    for name in VERSIONS if names == ["all"] else names or [KAFKA_VERSION]:
        try:
            distribution = prepare(name, progress=lambda line: print(line, flush=True))
        except SetupError as error:
            print(error, file=sys.stderr)
            return 1
        print(f"Kafka {name} is ready in {distribution.home}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
