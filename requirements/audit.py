"""Whether a package of `run.txt` has a known vulnerability: asks pip-audit, where its service can be reached."""

from __future__ import annotations

import json
import os
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
        return _not_audited((ran.stderr.strip().splitlines() or ["pip-audit says nothing"])[-1])
    audited = [package for package in packages if "skip_reason" not in package]
    for package in audited:
        for found in package["vulns"]:
            fixed = ", ".join(found["fix_versions"]) or "none yet"
            print(f"{package['name']} {package['version']}: {found['id']}, fixed in {fixed}")
    if any(package["vulns"] for package in audited):
        return 1
    if len(audited) < len(packages):
        left = [package["name"] for package in packages if "skip_reason" in package]
        return _not_audited(f"the service that knows vulnerabilities does not know {', '.join(left)}")
    print(f"{len(audited)} pins have no known vulnerability")
    return 0


def _not_audited(why: str) -> int:
    """Said so that nobody misses it. Where a build must not pass by it, AUDIT=required is set."""
    is_required = os.environ.get("AUDIT") == "required"
    if os.environ.get("GITHUB_ACTIONS"):
        print(f"::{'error' if is_required else 'warning'} title=pins were not audited::{why}")
    print(f"{'ERROR' if is_required else 'WARNING'}: pins were NOT audited: {why}", file=sys.stderr)
    return int(is_required)


if __name__ == "__main__":
    sys.exit(main())
