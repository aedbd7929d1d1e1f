"""What is said of a halted flow: in logs, by `status`, by `run --once`. Pure."""

from __future__ import annotations

from sparkmirror.control.log import timestamp
from sparkmirror.offsets.halts import Halt


def halt_text(flow: str, halt: Halt) -> str:
    return f"halted by {halt_origin(halt)}: nothing is mirrored until sparkmirror failback FILE --flow '{flow}'"


def halt_origin(halt: Halt) -> str:
    return f"{halt.by} since {timestamp(halt.since_ms / 1000)} ({halt.why})"
