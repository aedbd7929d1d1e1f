"""`python -m sparkmirror.embedded`: gets Kafka ready here, so that later starts need no network."""

from __future__ import annotations

import sys

from sparkmirror.embedded.distribution import prepare
from sparkmirror.errors import SetupError


def main() -> int:
    try:
        distribution = prepare(progress=lambda line: print(line, flush=True))
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Kafka {distribution.version} is ready in {distribution.home}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
