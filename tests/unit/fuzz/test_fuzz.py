"""The fuzzer finds what it is there for, and finds it again."""

from __future__ import annotations

from sparkmirror.errors import ProtocolError
from tests.fuzz.run import fuzz
from tests.fuzz.target import Target


def _trusting(data: bytes) -> None:
    """Takes the first byte for a length without looking at what is there."""
    if not data:
        raise ProtocolError("empty")
    for i in range(data[0]):
        data[1 + i]


def test_a_reader_that_trusts_a_length_is_found_with_the_input_that_shows_it() -> None:
    result = fuzz(Target("trusting", _trusting, [b"\x03abc"]), 1000, seed=1)
    assert result.finding is not None
    assert "IndexError" in result.finding.trace
    assert result.finding.data[0] > len(result.finding.data) - 1


def test_the_same_seed_gives_the_same_inputs() -> None:
    def inputs(seed: int) -> list[bytes]:
        seen: list[bytes] = []
        fuzz(Target("any", seen.append, [b"\x03abc"]), 200, seed)
        return seen

    assert inputs(1) == inputs(1)
    assert inputs(1) != inputs(2)


def test_a_valid_input_that_is_refused_is_a_finding() -> None:
    result = fuzz(Target("refusing", _trusting, [b""]), 0, seed=1)
    assert result.finding is not None
    assert "a valid input is refused" in result.finding.trace


def test_refusals_are_counted_and_are_no_findings() -> None:
    def refuse_broken(data: bytes) -> None:
        if data != b"valid":
            raise ProtocolError("broken")

    result = fuzz(Target("strict", refuse_broken, [b"valid"]), 500, seed=1)
    assert result.finding is None
    assert result.refused > 400
