"""What the driver finds out about topics by itself: counts that differ, and what the target refuses. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sparkmirror.copy.facts import UNAUTHORIZED
from sparkmirror.copy.lease import NOTHING, TRANSACTIONS
from sparkmirror.copy.receipt import NOTED, STOPPED, WAITING
from sparkmirror.net.denial import Denial
from sparkmirror.protocol import codes
from sparkmirror.topology.fact import WHOLE_FLOW, WHOLE_TOPIC, Fact
from sparkmirror.topology.least_rights import OWN_IDS
from sparkmirror.topology.select import TopicPair

OPEN_TRANSACTION = "open-transaction"
PARTITION_COUNT = "partition-count"
TOPIC_REFUSED = "topic-refused"
TAIL_UNREAD = "tail-unread"
MARKERS_REFUSED = "markers-refused"
HOLES_OUTRUN = "holes-outrun"
PART_FAILING = "part-failing"
FOUND_BY_DRIVER = frozenset(
    {OPEN_TRANSACTION, PARTITION_COUNT, TOPIC_REFUSED, MARKERS_REFUSED, HOLES_OUTRUN, PART_FAILING}
)

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the target answered when a topic was to be created or extended."""

    code: int
    said: str

    @property
    def kind(self) -> str:
        return WAITING if self.code in codes.PASSING else STOPPED


def find_topic_facts(pairs: Iterable[TopicPair], refusals: Mapping[str, Refusal]) -> dict[Place, Fact]:
    """Facts by source topic and partition; `refusals` are by remote topic."""
    found: dict[Place, Fact] = {}
    for pair in pairs:
        found |= _facts_of(pair, refusals.get(pair.remote))
    return found


def find_hidden_facts(denials: Mapping[str, Denial]) -> dict[Place, Fact]:
    """Source topics that are there, on their side and on the target, and not shown to us."""
    return {
        (topic, WHOLE_TOPIC): Fact(
            kind=STOPPED,
            name=UNAUTHORIZED,
            error=f"{denial.said}, so it is not seen; it goes on when that is granted: {denial.cure}",
        )
        for topic, denial in denials.items()
    }


def find_filling_facts(fill_with: str, denial: Denial) -> dict[Place, Fact]:
    """What it means for the flow that holes can't be filled with markers."""
    lacks = f"{denial.said} (CLUSTER_ACTION would do), so markers can't be written"
    said = {
        TRANSACTIONS: f"{lacks}: holes are filled with empty transactions, a few hundred a second",
        NOTHING: f"{lacks}, and no transactions (WRITE on transactional ids {OWN_IDS}*): topics with holes are "
        "mirrored with translated offsets",
    }
    error = f"{said[fill_with]}; grant it: {denial.cure}"
    return {WHOLE_FLOW: Fact(kind=NOTED, name=MARKERS_REFUSED, error=error)}


def find_part_facts(troubles: Mapping[str, str]) -> dict[Place, Fact]:
    """`troubles`: what went wrong with parts of the driver, by their names."""
    if not troubles:
        return {}
    said = "; ".join(f"{part}: {trouble}" for part, trouble in troubles.items())
    error = f"the driver began a part anew after an error that nobody expected ({said}); its log says where"
    return {WHOLE_FLOW: Fact(kind=WAITING, name=PART_FAILING, error=error)}


def find_unread_facts(pairs: Iterable[TopicPair], denials: Mapping[str, Denial]) -> dict[Place, Fact]:
    """`denials`: by remote topic, of those that may be written and not read."""
    return {
        (pair.topic, WHOLE_TOPIC): Fact(
            kind=NOTED,
            name=TAIL_UNREAD,
            error=f"{denials[pair.remote].said}, so positions are known from progress alone: after a kill the topic "
            f"stops, and offsets of groups are not committed there; grant it: {denials[pair.remote].cure}",
        )
        for pair in pairs
        if pair.remote in denials
    }


def all_places(pairs: Iterable[TopicPair]) -> Iterator[Place]:
    """Whatever a fact of these topics can be about."""
    for pair in pairs:
        yield from ((pair.topic, number) for number in range(WHOLE_TOPIC, pair.partitions))


def _facts_of(pair: TopicPair, refusal: Refusal | None) -> dict[Place, Fact]:
    if pair.is_shared and pair.present:
        return {}
    if pair.present > pair.partitions:
        return {(pair.topic, WHOLE_TOPIC): _wider(pair)}
    if refusal is None or pair.present == pair.partitions:
        return {}
    if pair.present == 0:
        return {(pair.topic, WHOLE_TOPIC): Fact(kind=refusal.kind, name=TOPIC_REFUSED, error=refusal.said)}
    fact = _narrower(pair, refusal)
    return {(pair.topic, number): fact for number in range(pair.present, pair.partitions)}


def _wider(pair: TopicPair) -> Fact:
    return Fact(
        kind=NOTED,
        name=PARTITION_COUNT,
        error=f"the target topic {pair.remote} has {pair.present} partitions where the source has {pair.partitions}; "
        "producers that write to the target spread keys otherwise",
    )


def _narrower(pair: TopicPair, refusal: Refusal) -> Fact:
    return Fact(
        kind=refusal.kind,
        name=PARTITION_COUNT,
        error=f"the target topic {pair.remote} has {pair.present} partitions where the source has {pair.partitions}, "
        f"and can't be extended: {refusal.said}",
    )
