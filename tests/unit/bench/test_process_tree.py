"""CPU time is neither lost nor counted twice when processes end."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bench.process_tree import Account, Identity, Sample, TreeMeter, Use

ROOT, JAVA, WORKER = Identity(1, 1.0), Identity(2, 2.0), Identity(3, 3.0)

# A child burns a third of a second; then its parent waits for it, or nobody does.
BURN = "import time\nwhile time.process_time() < 0.33: pass\nprint('burnt', flush=True)\ninput()\n"
WAITED_FOR = f"""\
import subprocess, sys
subprocess.run([sys.executable, "-c", {BURN!r}])
print("gone", flush=True)
sys.stdin.read()
"""
NOT_WAITED_FOR = f"import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n{WAITED_FOR}"


def use(parent: int, own_s: float, reaped_s: float = 0.0) -> Use:
    return Use(parent, own_s, reaped_s, 0)


def total(*samples: Sample) -> float:
    account = Account()
    for sample in samples:
        account.add(sample)
    return account.total_s


FAMILY = {ROOT: use(0, 1), JAVA: use(1, 5), WORKER: use(2, 2)}


def test_living_family_is_the_sum_of_its_members() -> None:
    assert total(FAMILY) == 8


def test_reaped_time_includes_what_was_not_seen() -> None:
    assert total(FAMILY, {ROOT: use(0, 1, reaped_s=7.5)}) == pytest.approx(8.5)


def test_member_nobody_waited_for_is_kept() -> None:
    assert total(FAMILY, {ROOT: use(0, 1)}) == 8
    assert total(FAMILY, {ROOT: use(0, 1, reaped_s=5)}) == 8


def test_time_that_is_handed_over_late_is_not_counted_twice() -> None:
    assert total(FAMILY, {ROOT: use(0, 1)}, {ROOT: use(0, 1, reaped_s=7.0)}) == 8


def test_time_is_handed_up_generation_by_generation() -> None:
    worker_gone = {ROOT: use(0, 1), JAVA: use(1, 5)}
    java_gone = {ROOT: use(0, 1, reaped_s=5)}  # java never waited for its worker
    assert total(FAMILY, worker_gone, java_gone) == 8


def test_orphan_goes_on_counting_after_its_parent_ended() -> None:
    orphaned = {ROOT: use(0, 1, reaped_s=5), WORKER: use(99, 3)}
    assert total(FAMILY, orphaned) == 9
    assert total(FAMILY, orphaned, {ROOT: use(0, 1, reaped_s=5)}) == 9


def test_pid_that_is_used_again_is_somebody_else() -> None:
    again = {ROOT: use(0, 1, reaped_s=7), Identity(2, 9.0): use(1, 0.5)}
    assert total(FAMILY, again) == pytest.approx(8.5)


def test_family_that_has_ended_keeps_its_total() -> None:
    assert total(FAMILY, {}) == 8


@pytest.mark.parametrize("code", [WAITED_FOR, NOT_WAITED_FOR])
def test_meter_counts_a_child_that_has_ended(code: str) -> None:
    with started(code) as process, TreeMeter(process.pid, 0.02) as meter:
        read_line(process)
        burnt_s = meter.cpu_s()
        assert 0.3 < burnt_s < 2.0
        write_line(process)
        read_line(process)
        assert burnt_s <= meter.cpu_s() < burnt_s + 0.3
        assert meter.peak_memory_bytes > 0
        assert [p.pid for p in meter.living()] == [process.pid]


def started(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def read_line(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout and process.stdout.readline()


def write_line(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin
    process.stdin.write(b"\n")
    process.stdin.flush()
