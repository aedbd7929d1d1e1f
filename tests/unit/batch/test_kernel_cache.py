"""What was compiled is not used again when anything that was compiled into it has changed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from sparkmirror.batch import kernel
from sparkmirror.batch.kernel import PACKAGE, SOURCES

PROGRAM = """
from sparkmirror.batch.varint import varint_size
print(varint_size(0), sum(varint_size.stats.cache_hits.values()))
"""


def test_a_change_elsewhere_is_compiled_in(tmp_path: Path) -> None:
    """`varint_size` calls nobody: only what belongs to all of it has changed."""
    package = tmp_path / "sparkmirror"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run() -> str:
        return subprocess.run(
            [sys.executable, "-c", PROGRAM], env=env, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    found = [run(), run()]
    scan = package / "batch" / "scan.py"
    before = scan.stat()
    scan.write_text(scan.read_text().replace("SMALL_BYTES", "SMALL_BYTEZ"))
    os.utime(scan, ns=(before.st_atime_ns, before.st_mtime_ns))
    found += [run(), run()]
    hits = [int(text.split()[-1]) for text in found if re.fullmatch(r"1 .*\n", text)]
    assert hits == [0, 1, 0, 1]


def test_all_kernels_are_in_files_whose_change_counts() -> None:
    covered = {path for pattern in SOURCES for path in PACKAGE.glob(pattern)}
    with_kernels = {path for path in PACKAGE.rglob("*.py") if re.search(r"^@kernel$", path.read_text(), re.MULTILINE)}
    assert len(with_kernels) > 10 and with_kernels <= covered
    assert kernel.__file__ in map(str, covered)
