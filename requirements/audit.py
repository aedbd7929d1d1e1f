"""Whether a package of `run.txt` has a known vulnerability: asks pip-audit, where its service can be reached."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PINS = Path(__file__).with_name("run.txt")


def main() -> int:
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--disable-pip",
        "--require-hashes",
        "--format",
        "json",
        "-r",
        str(PINS),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(ran.stdout)["dependencies"]
    except ValueError:
        print(f"pins were not audited: {(ran.stderr.strip().splitlines() or ['pip-audit says nothing'])[-1]}")
        return 0
    audited = [package for package in packages if "skip_reason" not in package]
    for package in audited:
        for found in package["vulns"]:
            fixed = ", ".join(found["fix_versions"]) or "none yet"
            print(f"{package['name']} {package['version']}: {found['id']}, fixed in {fixed}")
    if not audited:
        print("pins were not audited: the service that knows vulnerabilities has none of them")
    return int(any(package["vulns"] for package in audited))


if __name__ == "__main__":
    sys.exit(main())
