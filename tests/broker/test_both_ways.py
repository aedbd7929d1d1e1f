"""Names that stay the same both ways: what one flow wrote is never copied back by the other, whatever its claim
topic goes through.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkmirror.control.other_way import OtherWay
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.claims import Claims
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.flows import only_flow
from tests.support.kafka_client import await_condition, create_topic, delete_topic, produce, total
from tests.support.local_mirror import LocalMirror, mirroring

UNREACHABLE = ClusterAddress(alias="gone", bootstrap=("127.0.0.1:1",))

pytestmark = pytest.mark.timeout(90)


class Ways:
    """A flow each way between two clusters that no other test names so: a file each, as for two processes."""

    def __init__(self, pair: Pair, folder: Path, topics: str) -> None:
        self.sides = (pair.source, pair.target)
        self.names = tuple(f"{side}{uuid.uuid4().hex[:6]}" for side in "XY")
        self.files = tuple(folder / name for name in ("there.properties", "back.properties"))
        for file, (source, target) in zip(self.files, (self.names, self.names[::-1]), strict=True):
            servers = dict(zip(self.names, self.sides, strict=True))
            file.write_text(
                "\n".join(
                    (
                        f"clusters = {source}, {target}",
                        *(f"{name}.bootstrap.servers = {each}" for name, each in servers.items()),
                        f"{source}->{target}.enabled = true",
                        f"{source}->{target}.topics = {topics}",
                        "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
                        "identity.bidirectional = true",
                        "heartbeats.replication.enabled = false",
                        "emit.heartbeats.enabled = false",
                        "replication.factor = 1",
                        "offset.storage.replication.factor = 1",
                        "refresh.topics.interval.seconds = 1",
                        "lease.seconds = 1",
                    )
                )
            )

    @property
    def storages(self) -> tuple[Storage, Storage]:
        """Of the flow there, which is on the second cluster, and of the flow back."""
        return Storage.named(self.names[0]), Storage.named(self.names[1])

    def create(self, topic: str) -> str:
        for servers in self.sides:
            create_topic(servers, topic, 1)
        return topic

    def write(self, side: int, topic: str, count: int = 10) -> None:
        produce(self.sides[side], topic, ({"value": b"%d %d" % (side, i)} for i in range(count)))

    def lose_claims(self, way: int) -> None:
        """Whoever runs may make it anew at once."""
        name = self.storages[way].claims
        with Cluster(ClusterAddress(alias="any", bootstrap=(self.sides[1 - way],))) as cluster:

            def fetch_id() -> object:
                info = cluster.fetch_metadata([name]).topics.get(name)
                return None if info is None or info.error else info.topic_id

            before = fetch_id()
            delete_topic(self.sides[1 - way], name)
            await_condition(lambda: fetch_id() != before, f"the end of {name}")

    def totals(self, topic: str) -> list[int]:
        return [total(servers, topic) for servers in self.sides]


@pytest.fixture
def ways(pair: Pair, tmp_path: Path, topic: str) -> Iterator[Ways]:
    yield Ways(pair, tmp_path, f"{topic}.*")


def copy_all(mirror: LocalMirror, *topics: str) -> None:
    mirror.await_topics(len(topics))
    mirror.catch_up(*topics)


@pytest.mark.long
def test_a_claim_that_is_lost_while_its_flow_is_down_is_said_again_by_the_other_flow(ways: Ways, topic: str) -> None:
    one = ways.create(f"{topic}-1")
    ways.write(1, one)
    with mirroring(ways.files[0]) as there:
        with mirroring(ways.files[1]) as back:
            copy_all(back, one)
            before = back.keeper._producer_id
        copy_all(there, one)
        ways.lose_claims(1)
        two = ways.create(f"{topic}-2")
        ways.write(1, two)
        with mirroring(ways.files[1]) as back:
            copy_all(back, one, two)
            assert back.keeper._producer_id == before
        copy_all(there, one, two)
        assert [ways.totals(each) for each in (one, two)] == [[10, 10], [10, 10]]


@pytest.mark.long
def test_both_claim_topics_that_are_lost_at_once_say_the_same_again(ways: Ways, topic: str) -> None:
    one = ways.create(topic)
    with mirroring(ways.files[0]) as there, mirroring(ways.files[1]) as back:
        ways.write(1, one)
        copy_all(back, one)
        mirrors, before = (there, back), [m.keeper._producer_id for m in (there, back)]
        takes = [m.keeper._claims.takes for m in mirrors]
        with back.keeper._claims._lock:  # the other flow is first to see it
            for way in (0, 1):
                ways.lose_claims(way)
            await_condition(lambda: there.keeper._claims.takes > takes[0], "the lead to be taken anew", 30)
        for mirror, taken in zip(mirrors, takes, strict=True):
            await_condition(lambda m=mirror, n=taken: m.keeper._claims.takes > n, "the lead to be taken anew", 30)  # type: ignore[misc]
        for side, mirror in enumerate(mirrors):
            ways.write(side, one)
            copy_all(mirror, one)
        for mirror in mirrors:
            copy_all(mirror, one)
        assert [m.keeper._producer_id for m in mirrors] == before
        assert ways.totals(one) == [30, 30]


@pytest.mark.long
def test_a_new_producer_id_is_used_when_the_other_flow_knows_it_and_old_ones_are_never_forgotten(
    ways: Ways, topic: str
) -> None:
    one = ways.create(f"{topic}-1")
    ways.write(1, one)
    with mirroring(ways.files[0]) as there, mirroring(ways.files[1]) as back:
        await_condition(lambda: there.keeper.view.leads, "the lead", 30)  # it has read the claim
        copy_all(back, one)
        old = back.keeper._producer_id
    ways.lose_claims(1)
    two = ways.create(f"{topic}-2")
    ways.write(1, two)
    with mirroring(ways.files[0]) as there:
        there.await_topics(2)
        lease = there.plan(1.0)
        with mirroring(ways.files[1]) as back:
            await_condition(lambda: "knows it" in back.keeper.view.problem, "the wait", 30)
            new = back.keeper._claims.claim_producer_id()
            assert new != old and not back.keeper.view.leads
            await_condition(lambda: not there.keeper.is_current(lease), "the other flow to know it", 10)
            assert not back.keeper.view.leads, "while a lease that does not know it may last"
            back.await_topics(2)
            back.round()  # what the old id wrote is not taken for its own: that partition stops
        copy_all(there, one, two)
        assert there.plan(1.0).rules.skip_producers == tuple(sorted((old or 0, new)))
    assert [ways.totals(each) for each in (one, two)] == [[10, 10], [10, 10]]


def test_an_id_that_was_read_once_is_left_out_for_good_and_leases_that_do_not_know_it_get_no_time(
    ways: Ways, topic: str
) -> None:
    """Also by who comes next, and also if the claim topic of the flow back is lost while nobody looks."""
    here, there = (ClusterAddress(alias="any", bootstrap=(servers,)) for servers in ways.sides)
    flow = only_flow(ways.files[0])
    with Cluster(here) as source, Cluster(there) as target:
        mine = Claims(target, Storage.of(flow), 1)
        mine.claim_producer_id()
        first, news = OtherWay(flow, mine, 60.0, lambda: None), threading.Event()
        first.look()
        back = Claims(source, ways.storages[1], 1)
        old = back.claim_producer_id()
        assert first.skip == (old,) and first.term_s > 0
        mine.lead(2.0)
        assert not first.term_s, "not before it has looked once more"
        first.look()
        ProgressTopic(source, ways.storages[1], 1).ensure()
        ProgressTopic(source, ways.storages[1], 1).write({(topic, 0): Standing(5, 4, 5)})
        first.end()
        ways.lose_claims(1)
        next_one = Claims(target, Storage.of(flow), 1)
        next_one.refresh()
        second = OtherWay(flow, next_one, 60.0, news.set)
        second.look()
        assert second.skip == (old,)
        assert not Claims(source, ways.storages[1], 1).has_claim(), "it may still lead, and claims an id itself"
        news.clear()
        new = Claims(source, ways.storages[1], 1).claim_producer_id()
        second.look()
        assert second.skip == tuple(sorted((old, new))) and news.is_set()
        ways.lose_claims(1)
        second.look()
        assert Claims(source, ways.storages[1], 1).claim_producer_id() == new, "said again"
        second.end()


def test_a_new_flow_waits_for_leases_that_do_not_know_its_producer_id(ways: Ways, topic: str) -> None:
    ways.create(topic)
    with Cluster(ClusterAddress(alias="any", bootstrap=(ways.sides[1],))) as cluster:
        leader = Claims(cluster, ways.storages[0], 1)
        leader.claim_producer_id()
        leader.lead(2.0)
        with mirroring(ways.files[1]) as back:
            await_condition(lambda: "knows it" in back.keeper.view.problem, "the wait", 30)
            leader.release()
            await_condition(lambda: back.keeper.view.leads, "the lead", 10)


@pytest.mark.long
def test_a_flow_copies_nothing_while_it_cant_read_what_the_flow_back_claims_and_says_so(
    ways: Ways, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways.create(topic)
    with mirroring(ways.files[0]) as there:
        there.await_topics(1)
        await_condition(lambda: there.keeper.term_s > 0, "time for leases", 10)
        with monkeypatch.context() as broken:
            broken.setattr(there.keeper._other_way, "_theirs", Claims(Cluster(UNREACHABLE), ways.storages[1], 1))
            await_condition(lambda: "so nothing is copied" in there.keeper.view.problem, "the word", 20)
            assert there.keeper.lead.term_s > 0 and not there.keeper.term_s
        await_condition(lambda: there.keeper.term_s > 0 and not there.keeper.view.problem, "time for leases", 10)
