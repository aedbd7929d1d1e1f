"""The facts that stop a partition, each with a name that operators can look for and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from sparkmirror.errors import BrokerError, ConnectionLostError, MirrorError, SparkmirrorError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import TopicInfo
from sparkmirror.net.denial import Denial, describe_denial
from sparkmirror.protocol import codes
from sparkmirror.shown import LONGEST_SAID, shown
from sparkmirror.topology.right import Right

FLUSH_TIMEOUT, RETRIES_EXHAUSTED = "flush-timeout", "retries-exhausted"
RECORD_SKIPPED = "record-skipped"
RECORD_TOO_LARGE = "record-too-large"
UNAUTHORIZED = "unauthorized"
MISPLACED = ("diverged", "source-truncated")  # how records look that stand at another offset than the source's
# Why offsets are translated from where the target has records that the source has not.
OTHERS_WROTE, SOURCE_CUT, SOURCE_ANEW = PARTED = (
    "others wrote into the target topic",
    "the source was truncated to offset",
    "the source topic was deleted and created anew",
)

ACCEPT = "sparkmirror accept"
ANEW = "sparkmirror remirror mirrors the topic anew"
FOREIGN_WRITER = "foreign-writer"
SOURCE_RECREATED = "source-recreated"
ANEW_FOR_SINK = "give the sink another name and a new checkpoint, and its rows are written again"


def gap(first: int, end: int) -> MirrorError:
    return MirrorError(
        "gap",
        f"source offsets {first}..{end - 1} were removed before they could be copied (retention or DeleteRecords); "
        f"{ACCEPT} goes on behind them (on.gap=continue always does)",
    )


def unread_gap(partition: str, first: int, end: int) -> MirrorError:
    return MirrorError(
        "gap",
        f"offsets {first}..{end - 1} of {partition} were removed before they could be read (retention or "
        "DeleteRecords); failOnDataLoss=false goes on behind them",
    )


def unseen(address: ClusterAddress, needs: Right, partition: int, info: TopicInfo | None) -> MirrorError:
    """A partition of a topic that the metadata does not show. `needs`: what who looks wants to do there."""
    topic = needs.name
    if info is not None and info.error in codes.FORBIDDEN:
        return unauthorized(describe_denial(address, needs, info.error))
    why = codes.name_of(info.error) if info else "gone"
    return MirrorError(
        "no-such-partition", f"{topic}-{partition} is not there ({why}); create it, or take it out of the query"
    )


def source_truncated(topic: str, copied_end: int, source_end: int) -> MirrorError:
    return MirrorError(
        "source-truncated",
        f"the target holds records up to offset {copied_end - 1} but the log of {topic} was cut back to {source_end} "
        f"(unclean leader election?); {ACCEPT} goes on behind the cut (on.divergence=continue always does), or {ANEW}",
    )


def diverged(topic: str, first: int, end: int) -> MirrorError:
    return MirrorError(
        "diverged",
        f"the target's last records (offsets {first}..{end - 1}) are not what the source {topic} holds there: it was "
        f"truncated or written anew; {ANEW}",
    )


def source_recreated(topic: str) -> MirrorError:
    return MirrorError(
        SOURCE_RECREATED,
        f"the source topic {topic} was deleted and created anew; {ACCEPT} appends the new records behind the old ones "
        f"(on.recreate=continue always does), or {ANEW}",
    )


def target_recreated(topic: str, ours: Sequence[tuple[int, int]] = ()) -> MirrorError:
    """`ours`: first and end of what the mirror has appended there meanwhile."""
    there = ", ".join(f"{first}..{end - 1}" for first, end in ours)
    said = f", and the mirror's appends that were under way stand at its offsets {there}" if there else ""
    return MirrorError(
        "target-recreated",
        f"the target topic {topic} was deleted and created anew{said}; {ACCEPT} mirrors it from the source's start "
        "(on.recreate=continue always does)",
    )


def sink_target_recreated(topic: str) -> MirrorError:
    return MirrorError(
        "target-recreated",
        f"the topic {topic} was deleted and created anew since this sink wrote to it; give the sink another name (and "
        "a new checkpoint, if its rows are to be written again)",
    )


def target_wiped(topic: str, end: int) -> MirrorError:
    return MirrorError(
        "target-wiped",
        f"the target topic {topic} is empty where it held records up to offset {end - 1}; {ACCEPT} mirrors it from "
        "the source's start (on.divergence=continue always does)",
    )


def target_truncated(topic: str, end: int, expected: int, lost: int | None = None) -> MirrorError:
    """`lost`: how many records that were copied are missing, where that is known."""
    return MirrorError(
        "target-truncated",
        f"{_cut(topic, end, expected, lost)}; {ACCEPT} copies the lost records again (on.divergence=continue always "
        "does)",
    )


def sink_target_truncated(topic: str, end: int, expected: int, lost: int | None = None) -> MirrorError:
    return MirrorError("target-truncated", f"{_cut(topic, end, expected, lost)}; {ANEW_FOR_SINK}")


def sink_position_unknown(partition: str, rows: int) -> MirrorError:
    return MirrorError(
        "position-unknown",
        f"{partition} holds none of the last {rows} rows any more, so rows that come again can't be told from others; "
        f"{ANEW_FOR_SINK}",
    )


def for_sink(fact: MirrorError) -> MirrorError:
    """A sink has no source: what a mirror could copy again it can't."""
    what, _, cure = str(fact).rpartition("; ")
    return MirrorError(fact.name, f"{what}; {ANEW_FOR_SINK}") if cure.startswith((ACCEPT, ANEW)) else fact


def _cut(topic: str, end: int, expected: int, lost: int | None) -> str:
    missing = "" if lost is None else f"; {lost} records that were written are missing"
    grown = f"ends at {end} where it ended at {expected} before"
    if end >= expected:
        grown = f"lost its end before offset {expected} and was written to since"
    return f"the target's log of {topic} {grown} (unclean leader election, or an older disk?){missing}"


def foreign_writer(topic: str, first: int, end: int, *, is_sure: bool = True) -> MirrorError:
    """Not `is_sure`: no progress says where the mirror stood."""
    on = f"{ACCEPT} goes on behind them with translated offsets (on.divergence=continue always does), or "
    return MirrorError(
        FOREIGN_WRITER,
        f"somebody else wrote into the target topic {topic}, between offsets {first} and {end - 1}; "
        f"{on if is_sure else ''}{ANEW}",
    )


def position_unknown(why: str) -> MirrorError:
    return MirrorError("position-unknown", f"{why}; {ANEW}, or sparkmirror offsets set says where to go on")


def not_equal(why: str) -> MirrorError:
    return MirrorError(
        "offsets-not-equal", f"offsets.preserve is always, but equal offsets can't be kept: {why}; set it to auto"
    )


def other_rows(partition: str, first: int, end: int) -> MirrorError:
    return MirrorError(
        "other-rows",
        f"{partition}: a micro-batch that comes again has other rows than those that it wrote before (its rows "
        f"{first}..{end - 1}). A replay must bring the same rows in the same order, all of a partition in one task: "
        "repartition by topic and partition and sort by offset, or begin anew with another name",
    )


def spread_rows(partition: str) -> MirrorError:
    return MirrorError(
        "rows-spread",
        f"rows for {partition} came from two tasks of a micro-batch, so their order is not known: repartition by topic "
        "and partition before writing",
    )


def disordered_rows(partition: str, before: int, offset: int) -> MirrorError:
    return MirrorError(
        "rows-disordered",
        f"{partition}: the row of offset {offset} came after that of {before}; with offsets.preserve rows must come in "
        "the order of their offsets: sort within partitions, by offset",
    )


def older_batch(name: str, batch: int, written: int) -> MirrorError:
    return MirrorError(
        "older-micro-batch",
        f"the sink {name!r} has written micro-batch {written} and is given {batch}: the checkpoint is older than the "
        "target. Go on with the newest checkpoint, or begin anew with another name",
    )


def other_query(name: str) -> MirrorError:
    return MirrorError(
        "other-query",
        f"the sink {name!r} belongs to a query with another checkpoint, whose rows it has written: go on with that "
        "checkpoint, or give this query a name of its own",
    )


def too_large(offset: int, size: int, raising: str) -> MirrorError:
    """`raising`: the command that does."""
    return MirrorError(
        RECORD_TOO_LARGE,
        f"the record at source offset {offset} takes {size} bytes, more than the target topic's max.message.bytes; "
        f"errors.tolerance=all leaves the record out, or raise that: {raising}",
    )


def beyond_request(offset: int, size: int) -> MirrorError:
    return MirrorError(
        RECORD_TOO_LARGE,
        f"the record at source offset {offset} takes {size} bytes, more than producer.max.request.size; raise that, or "
        "errors.tolerance=all leaves the record out",
    )


def not_told_where(reset: str) -> MirrorError:
    return MirrorError(
        "no-position",
        f"nothing says where to begin, and consumer.auto.offset.reset is {reset}; set the partition's offset "
        "(sparkmirror offsets set), or consumer.auto.offset.reset to earliest or latest",
    )


def late_acknowledgement(broker: str, seconds: float) -> MirrorError:
    return MirrorError(
        FLUSH_TIMEOUT,
        f"an append to {broker} has not been acknowledged for {seconds:g} s (offset.flush.timeout.ms); look at that "
        "broker's load and at its topics' in-sync replicas. If no answer comes it is sent again",
    )


def retries_exhausted(seconds: float, reason: str) -> MirrorError:
    return MirrorError(
        RETRIES_EXHAUSTED,
        f"tries have failed for longer than {seconds:g} s (errors.retry.timeout), the last one since {reason}; each "
        "lease tries once more, and with errors.retry.timeout=-1 without a pause",
    )


def corrupt(why: str) -> MirrorError:
    """Each lease tries again. What is behind a batch that nobody can read any more is copied if an operator says so."""
    return MirrorError(
        "corrupt",
        f"{why}; if it stays, the source's log is damaged there: restore the source's log from a replica or a backup, "
        "or stop the mirror and go on behind the damage with sparkmirror offsets set",
    )


def unread(error: SparkmirrorError) -> MirrorError:
    """Why a source can't be read, by whether that may pass."""
    if isinstance(error, ConnectionLostError):
        return MirrorError("unreachable", str(error))
    if isinstance(error, BrokerError) and error.code in codes.FORBIDDEN:
        return MirrorError(UNAUTHORIZED, str(error))
    return corrupt(str(error))


def unauthorized(denial: Denial, so: str = "") -> MirrorError:
    """`so`: what it means beside that the partition stands still."""
    return MirrorError(UNAUTHORIZED, f"{denial.said}{so}; it goes on when that is granted: {denial.cure}")


def refused(side: str, code: int, message: str | None) -> MirrorError:
    """What a broker refuses for good. It says itself why."""
    return MirrorError("refused", _refusal(side, code, message))


def timestamp_refused(message: str | None, raising: str) -> MirrorError:
    """`raising`: the command that raises the limits of the target topic."""
    said = _refusal("target", codes.INVALID_TIMESTAMP, message)
    return MirrorError("timestamp-refused", f"{said}; raise the topic's limits of timestamps: {raising}")


def _refusal(side: str, code: int, message: str | None) -> str:
    return f"the {side} refuses: {codes.name_of(code)} {shown(message or '', LONGEST_SAID)}".rstrip()
