"""Two real clusters, a mirror, and some topics that live side by side; what must hold whenever groups were moved.

One life of a world: topics live on A while the mirror copies, is killed, and moves groups; a failover, planned or with
A's broker killed; consumers live on B; a failback; topics live on A again, and in the end each reader reads all.
"""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from confluent_kafka.admin import AdminClient

from sparkmirror.control import switch
from sparkmirror.control.switch import Order, Switch
from sparkmirror.control.switch_report import Report
from sparkmirror.embedded import KafkaCluster
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.group_offsets import fetch_group_offsets
from sparkmirror.offsets.checkpoint_topic import CheckpointTopic
from tests.conftest import Pair
from tests.consumers.log_book import LogBook, Place, Record, Seen
from tests.consumers.model import Told, find_repeated, find_skipped
from tests.consumers.topic_life import Reader, TopicLife
from tests.support.flows import only_flow, write_flow
from tests.support.group_members import committed
from tests.support.group_rounds import KEYS, Groups
from tests.support.kafka_client import DEADLINE_S, await_condition
from tests.support.leases import address
from tests.support.local_mirror import LocalMirror

Offsets = dict[str, dict[Place, int]]
CATCH_UP_ROUNDS = 4
ACTS = 2  # of each topic, to one of the mirror
CONTINUE = dict.fromkeys(("on.gap", "on.recreate", "on.divergence"), "continue")


class World:
    def __init__(self, pair: Pair, folder: Path, seed: int, lives: int) -> None:
        self.pair, self.seed = pair, seed
        self.dice = random.Random(seed)
        self.source, self.target = pair.source, pair.target
        self.merged = self.dice.random() < 0.25
        self.is_calm = self.dice.random() < 0.4  # so that the commands find nothing to complain of
        self.tolerant = self.dice.random() < 0.6
        self.rewind = self.dice.random() < 0.5
        self.preserve = self.dice.choice(("auto", "auto", "never"))
        self.prefix = f"w{seed}-{folder.name[-8:]}"
        self.books = {self.source: LogBook(self.source), self.target: LogBook(self.target)}
        self.admins = {servers: AdminClient({"bootstrap.servers": servers}) for servers in self.books}
        self.counts: Counter[str] = Counter()
        self.is_moved = False  # consumers are on B
        self.is_heard = False  # the last lease has told all that it had done
        self._put: dict[tuple[str, Place], int] = {}
        self.file = write_flow(folder, self.source, self.target, f"{self.prefix}-h.*", self._keys())
        self.alias = only_flow(self.file).source.alias
        self.lives = [TopicLife(self, f"{self.prefix}-h{i:02}") for i in range(lives)]
        self._open = contextlib.ExitStack()
        self.mirror: LocalMirror
        self.groups: Groups

    def _keys(self) -> dict[str, str]:
        keys = KEYS | {
            "groups": f"{self.prefix}.*",
            "lease.seconds": "1",
            "refresh.topics.interval.seconds": "0.2",
            "offsets.preserve": "auto" if self.merged else self.preserve,
            "sync.group.offsets.rewind": str(self.rewind).lower(),
            **(CONTINUE if self.tolerant else {}),
        }
        return keys | ({"topics.map": f"({self.prefix}-h..)-.*:$1-all"} if self.merged else {})

    @property
    def said(self) -> str:
        kinds = f"merged={self.merged} calm={self.is_calm} tolerant={self.tolerant} rewind={self.rewind}"
        return f"world {self.seed} ({kinds} preserve={self.preserve})"

    def topics(self, servers: str) -> set[str]:
        return set(self.admins[servers].list_topics(timeout=DEADLINE_S).topics)

    # -- the mirror

    def start_mirror(self) -> None:
        self.mirror = LocalMirror(self.file)
        self.mirror.keeper.start()
        self.mirror.keeper.lead.allow()
        self.groups = Groups(self.mirror)
        self.is_heard = False

    def stop_mirror(self, *, is_killed: bool = False) -> None:
        """Killed: it leaves the lead to nobody, and whoever follows waits until it was silent for long enough."""
        self.groups.close()
        self.mirror.keeper.stop(is_done=not is_killed)
        self.counts["mirror killed"] += is_killed

    def copy(self) -> None:
        self.mirror.await_topics(sum(len(life.numbers) for life in self.lives))
        self.is_heard = self.dice.random() < 0.75
        self.mirror.round(0.6, heard=self.is_heard)

    def catch_up(self) -> None:
        """As far as it goes: what stands still is named by the commands."""
        for _ in range(CATCH_UP_ROUNDS):
            self.is_heard = True
            self.mirror.round(0.6)
        self.counts["facts"] += len(self.mirror.facts())

    def kill_broker(self) -> None:
        cluster = self.dice.choice((self.pair.a, self.pair.b))
        self.counts["broker killed"] += 1
        self._kill(cluster)
        self._start_again(cluster)

    def _kill(self, cluster: KafkaCluster) -> None:
        self.admins.pop(cluster.bootstrap_servers)
        cluster.brokers[0].kill()

    def _start_again(self, cluster: KafkaCluster) -> None:
        """Until all has a leader again, and groups are known."""
        cluster.brokers[0].start()
        cluster.wait_ready()
        servers = cluster.bootstrap_servers
        self.admins[servers] = AdminClient({"bootstrap.servers": servers})

        def is_led() -> bool:
            known = self.admins[servers].list_topics(timeout=DEADLINE_S).topics.values()
            return all(partition.leader >= 0 for topic in known for partition in topic.partitions.values())

        await_condition(is_led, "leaders")
        committed(servers, "first", [("first", 0)])

    # -- groups

    def round(self) -> None:
        """A round of the mirror's, and what it may have done."""
        self._read_books()
        here, before, emitted = self.committed(self.source), self.committed(self.target), self._emitted()
        self.groups.round()
        after = self.committed(self.target)
        for life in self.lives:
            for group in life.groups:
                self._check_moves(life, group, here[group], before[group], after[group], emitted[group])
        self.counts["rounds"] += 1

    def _emitted(self) -> Offsets:
        """Where checkpoints put all groups on the target."""
        groups = [group for life in self.lives for group in life.groups]
        with Cluster(address(self.target)) as cluster:
            topic = CheckpointTopic(cluster, f"{self.alias}.checkpoints.internal")
            topic.read_on()
            return {
                group: {place: each.downstream_offset for place, each in topic.last(group).items()} for group in groups
            }

    def _read_books(self) -> None:
        self.books[self.source].read([topic for life in self.lives for topic in life.topics])
        self.books[self.target].read([life.remote for life in self.lives])

    def committed(self, servers: str) -> Offsets:
        """Of all groups at once: librdkafka asks for one at a time, and does not survive a broker that dies."""
        groups = [group for life in self.lives for group in life.groups]
        found: Offsets = {}
        with Cluster(address(servers)) as cluster:
            for group, offsets in fetch_group_offsets(cluster, groups, deadline_s=DEADLINE_S).items():
                assert isinstance(offsets, dict), offsets
                found[group] = {place: at.offset for place, at in offsets.items() if at.offset >= 0}
        return found

    def _check_moves(
        self,
        life: TopicLife,
        group: str,
        here: Mapping[Place, int],
        before: Mapping[Place, int],
        after: Mapping[Place, int],
        emitted: Mapping[Place, int],
    ) -> None:
        """What goes back stands where the mirror has put it, or would have, by its checkpoint."""
        read = self.books[self.source].read_before(here)
        for place in life.places(on_target=True):
            seen = self.books[self.target].logs.get(place)
            was, now = before.get(place), after.get(place)
            if seen is None or now is None or was == now:
                continue
            said = f"{group} went from {was} to {now} in {place} [{seen.start}, {seen.end}) by {here}, {self.said}"
            assert now <= seen.end, said
            skipped = find_skipped(self._alive(life, seen), seen.start if was is None else was, now, read)
            assert not skipped, f"{skipped[:3]}: {said}"
            if was is not None and now < was:
                puts = self._put.get((group, place)), emitted.get(place)
                assert self.rewind and was in puts, f"it went back, put at {puts}: {said}"
            report = self.groups.keeper.reports.get(group)  # it lags: progress does not tell of all that was copied
            if self.is_heard and not self.merged and report and not report.lagging:
                again = find_repeated(self._alive(life, seen), now, read)
                assert not again, f"{again[:3]} again: {said}"
            self._put[group, place] = now
            self.counts["moves"] += 1

    def _alive(self, life: TopicLife, seen: Seen) -> list[tuple[int, Record]]:
        """Without what a topic held that was deleted."""
        return [(offset, record) for offset, record in seen.records if life.is_mine(record)]

    # -- commands

    def failover(self, *, is_away: bool) -> None:
        """First without force: what is refused changes nothing."""
        self.counts["failovers away" if is_away else "failovers"] += 1
        with self._without_a() if is_away else contextlib.nullcontext():
            report = self._command("failover", self.target, force=False, is_away=is_away)
        if report.problem and not is_away:
            self.counts["failovers forced"] += 1
            report = self._command("failover", self.target, force=True, is_away=is_away)
        self.counts["whole failovers"] += report.is_whole
        self.is_moved = True
        self._check_report(report, self.target)

    @contextlib.contextmanager
    def _without_a(self) -> Iterator[None]:
        self._kill(self.pair.a)
        try:
            yield
        finally:
            self._start_again(self.pair.a)

    def failback(self) -> None:
        report = self._command("failback", self.source, force=False, is_away=False)
        if report.halt:
            self.counts["failbacks forced"] += 1
            report = self._command("failback", self.source, force=True, is_away=False)
        assert report.halt is None, report
        self.counts["whole failbacks"] += report.is_whole
        self.is_moved = False
        self._check_report(report, self.source)

    def _command(self, verb: str, there: str, *, force: bool, is_away: bool) -> Report:
        before = self.committed(there)
        with Switch(self.mirror.flow, [self.mirror.flow], Order(wait_s=0, force=force), lambda _: None) as command:
            report = command.failover() if verb == switch.FAILOVER else command.failback()
        assert bool(report.away) == is_away, report
        self.counts.update(f"{verb} {row.state}" for row in report.moves)
        if report.problem and not report.moves:
            assert self.committed(there) == before, f"nothing was to be changed: {report.problem}, {self.said}"
        return report

    def failover_beside(self) -> None:
        """A mirror that runs ends its work when it is told to."""
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(self.failover, is_away=False)
            await_condition(lambda: done.done() or self.mirror.keeper.lead.owes_rest, "the halt", 60)
            while not done.done():
                self.mirror.keeper.lead.note_rest()
                with contextlib.suppress(TimeoutError):
                    done.result(0.2)
            done.result()

    def _check_report(self, report: Report, there: str) -> None:
        """What each reader sees next, and whether it may see it again."""
        self._read_books()
        at = self.committed(there)
        is_plain = not report.away and not report.missing and not self.merged
        for life in self.lives:
            for reader in life.readers:
                self._check_reader(life, reader, Told.of(report, reader.name), there, at[reader.name])
                for row in report.moves if is_plain and not life.touched else ():
                    assert row.group != reader.name or row.is_well, f"{row}, {self.said}"

    def _check_reader(self, life: TopicLife, reader: Reader, told: Told, there: str, at: Mapping[Place, int]) -> None:
        merged = {place for place in life.places(on_target=True) if self.merged}
        for place in life.places(on_target=there == self.target):
            seen = self.books[there].logs.get(place)
            if seen is None:
                continue
            now = at.get(place, seen.start)
            said = f"{reader.name} at {at.get(place)} in {place} [{seen.start}, {seen.end}), {told}, {self.said}"
            mine = self._alive(life, seen)
            skipped = find_skipped(mine, seen.start, now, reader.behind)
            assert not skipped, f"skipped {skipped[:3]}: {said}"
            again = find_repeated(mine, now, reader.seen)
            assert not again or told.may_repeat(place, merged), f"again {again[:3]}: {said}"
            reader.again |= set(again)
            self.counts["readers moved, again" if again else "readers moved"] += 1

    # -- a whole life

    def live(self, steps: int) -> None:
        try:
            self._on_a(steps)
            self._move_to_b()
            self._live_along(steps // 2)
            self._read_some()
            self.failback()
            self.start_mirror()
            self._on_a(steps // 2, is_running=True)
            self.stop_mirror()
            for life in self.lives:
                self._read_all(life)
        except AssertionError as error:
            raise AssertionError(f"{self.said}: {error}") from error

    def _on_a(self, steps: int, *, is_running: bool = False) -> None:
        if not is_running:
            self.start_mirror()
        for _ in range(steps):
            self._live_along(1)
            self.copy()
            if self.dice.random() < 0.6:
                self.round()
            if self.dice.random() < 0.1:
                self.stop_mirror(is_killed=self.dice.random() < 0.5)
                self.start_mirror()
            if self.dice.random() < 0.04:
                self.kill_broker()

    def _move_to_b(self) -> None:
        is_away = self.dice.random() < 0.3
        if not is_away or self.dice.random() < 0.5:
            self.catch_up()
            self.round()
        if not is_away and self.dice.random() < 0.5:
            self.failover_beside()
            self.stop_mirror()
        else:
            self.stop_mirror(is_killed=self.dice.random() < 0.3)
            self.failover(is_away=is_away)

    def _live_along(self, steps: int) -> None:
        for _ in range(steps):
            for life in self.lives:
                for _ in range(ACTS):
                    life.act()

    def _read_some(self) -> None:
        for life in self.lives:
            for reader in life.readers:
                if self.dice.random() < 0.5:
                    life.read_on(reader, 1 << 20)

    def _read_all(self, life: TopicLife) -> None:
        """At the source: each reader has seen all that stands there, but what it was behind when that was gone."""
        for reader in life.readers:
            life.read_on(reader, 1 << 20)
            self.books[self.source].read(life.topics)
            for place in life.places(on_target=False):
                left = [r for _, r in self.books[self.source].logs[place].records if r not in reader.behind]
                assert not left, f"{reader.name} has not seen {left[:3]} of {place}, {self.said}"
        self.counts["lives"] += 1
