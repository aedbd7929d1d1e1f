"""The facts that stop a partition, each with a name that operators can look for and what to do about it."""

from __future__ import annotations

from sparkmirror.errors import MirrorError
from sparkmirror.protocol import codes

ANEW = "delete the target topic to mirror it anew"


def gap(first: int, end: int) -> MirrorError:
    return MirrorError(
        "gap",
        f"source offsets {first}..{end - 1} were removed before they could be copied (retention or DeleteRecords); "
        "on.gap=continue goes on behind them",
    )


def source_truncated(topic: str, copied_end: int, source_end: int) -> MirrorError:
    return MirrorError(
        "source-truncated",
        f"the target holds records up to offset {copied_end - 1} but the log of {topic} was cut back to {source_end} "
        f"(unclean leader election?); on.divergence=continue goes on behind the cut, or {ANEW}",
    )


def diverged(topic: str, first: int, end: int) -> MirrorError:
    return MirrorError(
        "diverged",
        f"the target's last records (offsets {first}..{end - 1}) are not what the source {topic} holds there: it was "
        f"truncated or written anew; {ANEW}",
    )


def source_recreated(topic: str) -> MirrorError:
    return MirrorError(
        "source-recreated",
        f"the source topic {topic} was deleted and created anew; on.recreate=continue appends the new records behind "
        f"the old ones, or {ANEW}",
    )


def target_recreated(topic: str) -> MirrorError:
    return MirrorError(
        "target-recreated",
        f"the target topic {topic} was deleted and created anew; on.recreate=continue (or resetting the flow's "
        "offsets) mirrors it from the source's start",
    )


def target_wiped(topic: str, end: int) -> MirrorError:
    return MirrorError(
        "target-wiped",
        f"the target topic {topic} is empty where it held records up to offset {end - 1}; on.divergence=continue "
        "mirrors it from the source's start",
    )


def target_truncated(topic: str, end: int, expected: int) -> MirrorError:
    return MirrorError(
        "target-truncated",
        f"the target's log of {topic} ends at {end} where it ended at {expected} before (unclean leader election?); "
        "on.divergence=continue copies the lost records again",
    )


def foreign_writer(topic: str, first: int, end: int) -> MirrorError:
    return MirrorError(
        "foreign-writer",
        f"somebody else wrote into the target topic {topic}, between offsets {first} and {end - 1}; "
        f"on.divergence=continue goes on behind them with translated offsets, or {ANEW}",
    )


def position_unknown(why: str) -> MirrorError:
    return MirrorError("position-unknown", f"{why}; {ANEW}, or set the flow's offset")


def not_equal(why: str) -> MirrorError:
    return MirrorError(
        "offsets-not-equal", f"offsets.preserve is always, but equal offsets can't be kept: {why}; set it to auto"
    )


def too_large(offset: int, size: int) -> MirrorError:
    return MirrorError(
        "record-too-large",
        f"the record at source offset {offset} takes {size} bytes, more than the target topic's max.message.bytes; "
        "raise that, or on.gap=continue leaves the record out",
    )


def corrupt(why: str) -> MirrorError:
    return MirrorError("corrupt", f"{why}; if it stays, the source's log is damaged there")


def refused(side: str, code: int, message: str | None) -> MirrorError:
    """What a broker refuses for good, by what an operator can do about it."""
    said = f"the {side} refuses: {codes.name_of(code)} {message or ''}".rstrip()
    if code in codes.FORBIDDEN:
        return MirrorError("unauthorized", f"{said}; give the mirror's user the right back")
    if code == codes.INVALID_TIMESTAMP:
        return MirrorError(
            "timestamp-refused", f"{said}; raise message.timestamp.before.max.ms and .after.max.ms of the topic"
        )
    return MirrorError("refused", said)
