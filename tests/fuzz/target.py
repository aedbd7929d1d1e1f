"""What is fuzzed: a reader of bytes, valid inputs for it, and the errors that it may raise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sparkmirror.errors import ProtocolError


@dataclass(frozen=True, slots=True)
class Target:
    """`run` must take each of `inputs` without an error, and anything else with one of `refusals` or without."""

    name: str
    run: Callable[[bytes], None]
    inputs: Sequence[bytes]
    refusals: tuple[type[Exception], ...] = (ProtocolError,)
