"""What the driver finds out about topics by itself: counts that differ, and what the target refuses. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sparkmirror.copy.lease import NOTHING, TRANSACTIONS
from sparkmirror.copy.receipt import NOTED, STOPPED, WAITING
from sparkmirror.protocol import codes
from sparkmirror.topology.fact import WHOLE_FLOW, WHOLE_TOPIC, Fact
from sparkmirror.topology.select import TopicPair

OPEN_TRANSACTION = "open-transaction"
PARTITION_COUNT = "partition-count"
TOPIC_REFUSED = "topic-refused"
UNAUTHORIZED = "unauthorized"
MARKERS_REFUSED = "markers-refused"
HOLES_OUTRUN = "holes-outrun"
FOUND_BY_DRIVER = frozenset({OPEN_TRANSACTION, PARTITION_COUNT, TOPIC_REFUSED, MARKERS_REFUSED, HOLES_OUTRUN})

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


def find_hidden_facts(topics: Iterable[str], side: str) -> dict[Place, Fact]:
    """Topics that are there, and not shown to us."""
    return {
        (topic, WHOLE_TOPIC): Fact(
            kind=STOPPED,
            name=UNAUTHORIZED,
            error=f"the {side} refuses DESCRIBE on the topic, so it is not seen any more; it goes on when the mirror's "
            "user has the right",
        )
        for topic in topics
    }


def find_filling_facts(fill_with: str) -> dict[Place, Fact]:
    """What it means for the flow if holes can't be filled with markers."""
    lacks = "the target permits no markers (ALTER or CLUSTER_ACTION on the cluster)"
    said = {
        TRANSACTIONS: f"{lacks}: holes are filled with empty transactions, a few hundred a second",
        NOTHING: f"{lacks} and no transactions (WRITE on transactional ids sparkmirror.*): topics with holes are "
        "mirrored with translated offsets",
    }
    if fill_with not in said:
        return {}
    return {WHOLE_FLOW: Fact(kind=NOTED, name=MARKERS_REFUSED, error=said[fill_with])}


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
