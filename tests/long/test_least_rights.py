"""The least rights: with exactly those of the table all works, and without one of them exactly what it is for is lost.

Each case is a flow with everything switched on, of a user who has all rights of the table but one. It must do all but
what that right is for, must say which right that is, to whom and how it is granted, and must miss no other right.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka.admin import AdminClient

from sparkmirror.embedded import start_clusters
from sparkmirror.topology.least_rights import SOURCE, TABLE, TARGET, TO_USE_TRANSACTIONS, TO_WRITE_MARKERS, plan_rights
from sparkmirror.topology.right import CLUSTER, GROUP, TOPIC, TRANSACTIONAL_ID, Right
from tests.support.command import run_command
from tests.support.guarded import AS_ADMIN, start_guarded
from tests.support.kafka_client import await_condition
from tests.support.least_rights import HEARTBEATS, Grants, Scene, Side

AT_ONCE = 4
SCENES = 60
NOTHING_WORKS = frozenset({"*"})


class Case(NamedTuple):
    """A right of the table without which `lost` does not work. `name`: of which topic or group it is taken.

    `add`: what is given in its place. READ on internal topics is missed where a driver before has written something.
    """

    side: str
    operation: str
    on: str
    lost: frozenset[str]
    name: str = ""
    add: tuple[Right, ...] = ()

    @property
    def is_of_new_heartbeats(self) -> bool:
        return (self.on, self.operation) == ("heartbeats", "CREATE")

    @property
    def is_of_filled_topic(self) -> bool:
        return self.operation == "READ" and self.on in ("progress", "status", "checkpoints")


def case(side: str, on: str, operation: str, *lost: str, name: str = "", add: tuple[Right, ...] = ()) -> Case:
    return Case(side, operation, on, frozenset(lost), name, add)


OF_MAP = ("translated groups",)
OF_GROUPS = ("group offsets", "translated groups", "checkpoints", "end of groups")
CASES = (
    case(SOURCE, "mirrored", "READ", "copy", "progress", name="copy"),
    case(SOURCE, "mirrored", "DESCRIBE_CONFIGS", "new topics", "end of topics", name="new"),
    case(SOURCE, "mirrored", "DESCRIBE_CONFIGS", "configurations", name="conf"),
    case(SOURCE, CLUSTER, "DESCRIBE", "rights"),
    case(SOURCE, "groups", "DESCRIBE", "group offsets", "checkpoints", name="billing"),
    case(SOURCE, "offset_syncs", "CREATE", "offset syncs"),
    case(SOURCE, "offset_syncs", "WRITE", "offset syncs"),
    case(SOURCE, "heartbeats", "CREATE", "heartbeats back"),
    case(SOURCE, "heartbeats", "WRITE", "heartbeats back"),
    case(TARGET, "claims", "CREATE", *NOTHING_WORKS),
    case(TARGET, "claims", "READ", *NOTHING_WORKS),
    case(TARGET, "claims", "WRITE", *NOTHING_WORKS),
    case(TARGET, "progress", "CREATE", *NOTHING_WORKS),
    case(TARGET, "progress", "READ", *NOTHING_WORKS),
    case(TARGET, "progress", "WRITE", "progress", "log start", "translated", *OF_GROUPS),
    case(TARGET, "status", "CREATE", "facts", "end of groups"),
    case(TARGET, "status", "READ", "facts", "end of groups"),
    case(TARGET, "status", "WRITE", "facts"),
    case(TARGET, "offset_map", "CREATE", *OF_MAP),
    case(TARGET, "offset_map", "READ", *OF_MAP),
    case(TARGET, "offset_map", "WRITE", *OF_MAP),
    case(TARGET, "checkpoints", "CREATE", "checkpoints", "end of groups"),
    case(TARGET, "checkpoints", "READ", "checkpoints", "end of groups"),
    case(TARGET, "checkpoints", "WRITE", "checkpoints", "end of groups"),
    case(TARGET, "heartbeats", "CREATE", "heartbeats"),
    case(TARGET, "heartbeats", "WRITE", "heartbeats"),
    case(TARGET, "remotes", "WRITE", "copy", "progress", name="copy"),
    case(TARGET, "remotes", "READ", "group offsets", name="grp"),
    case(TARGET, "remotes", "CREATE", "new topics", "end of topics", name="new"),
    case(TARGET, "remotes", "ALTER", "partitions", name="wide"),
    case(TARGET, "remotes", "ALTER_CONFIGS", "configurations", name="conf"),
    case(TARGET, "remotes", "DELETE", "log start", name="late"),
    case(TARGET, "remotes", "DELETE", "end of topics", name="new"),
    case(TARGET, CLUSTER, "ALTER", "rights", add=(TO_USE_TRANSACTIONS,)),
    case(TARGET, TRANSACTIONAL_ID, "WRITE", "holes", "rights"),
    case(TARGET, "groups", "READ", "group offsets", name="billing"),
    case(TARGET, "groups", "DELETE", "end of groups", name="gone"),
)


@pytest.fixture(scope="module")
def sides() -> Iterator[tuple[Side, Side]]:
    users = [f"{name}{number}" for name in ("reader", "writer") for number in range(SCENES)]
    (a, for_a), (b, for_b) = (start_guarded(name, users) for name in ("A", "B"))
    start_clusters(a, b)
    with a, b:
        found = Side(for_a), Side(for_b)
        yield found
        for side in found:
            side.close()


def table_rights(scene: Scene) -> Grants:
    """What a run of the flow needs, and the pair that goes back."""
    grants: Grants = {SOURCE: [], TARGET: []}
    for row, right in plan_rights(scene.flow, scene.names):
        grants[row.side].append(right)
    grants[SOURCE] += [Right(operation, TOPIC, HEARTBEATS) for operation in ("CREATE", "WRITE")]
    return grants


def right_of(scene: Scene, case: Case) -> Right:
    if case.on in (CLUSTER, TRANSACTIONAL_ID):
        return TO_WRITE_MARKERS if case.side == TARGET else Right(case.operation, CLUSTER)
    if case.on == "groups":
        return Right(case.operation, GROUP, scene.groups[case.name])
    if case.on == "mirrored":
        return Right(case.operation, TOPIC, scene.topics[case.name])
    if case.on == "remotes":
        return Right(case.operation, TOPIC, scene.remote(case.name))
    return Right(case.operation, TOPIC, getattr(scene.names, case.on))


def run_case(case: Case, number: int, folder: Path, sides: tuple[Side, Side]) -> str:
    """One line of the table of runs."""
    scene = Scene(number, folder, *sides)
    right, grants = right_of(scene, case), table_rights(scene)
    grants[case.side] = [each for each in grants[case.side] if each != right]
    grants[TARGET] += case.add
    if case.is_of_filled_topic:
        scene.fill(right.name)
    scene.prepare(grants)
    alias, principal = scene.alias(case.side), f"User:{scene.users[case.side]}"
    wanted = {"heartbeats back"} if case.lost == NOTHING_WORKS else set(scene.features) - case.lost

    def is_said() -> bool:
        texts = [text for text in scene.said() if f"{principal} has no {right.at(alias)}" in text]
        servers = sides[0 if case.side == SOURCE else 1].servers
        return any(right.grant(principal, servers) in text for text in texts)

    scene.run(wanted, is_said)
    found = scene.named_rights()
    print(f"{case.side} {right.at(alias)}: lost {sorted(case.lost)}; said", *sorted(found), sep="\n    ", flush=True)
    assert scene.done == wanted, f"{right}: {scene.done ^ wanted}"
    shown = right.at(alias).partition(" of cluster")[0]
    assert found == {shown}, f"{right}: {found}"
    return f"{case.side:6}  {right.at(alias):60}  {', '.join(sorted(case.lost)).replace('*', 'everything')}"


def test_every_right_of_the_table_has_a_case() -> None:
    beside = {(SOURCE, "groups", "READ")}  # failback: below
    beside |= {(row.side, row.on, op) for row in TABLE for op in row.operations if "location target" in row.use}
    of_table = {(row.side, row.on or row.resource, op) for row in TABLE for op in row.operations}
    assert {(case.side, case.on, case.operation) for case in CASES} == of_table - beside


@pytest.mark.timeout(240)
def test_with_the_least_rights_all_works(sides: tuple[Side, Side], tmp_path: Path) -> None:
    scene = Scene(0, tmp_path, *sides)
    scene.prepare(table_rights(scene))
    began = time.monotonic()
    scene.run(set(scene.features), lambda: True)
    print(f"took {time.monotonic() - began:.1f} s")
    assert scene.named_rights() == set(), scene.said()


@pytest.mark.timeout(240)
def test_cluster_action_is_enough_for_markers_and_offset_syncs_may_be_at_the_target(
    sides: tuple[Side, Side], tmp_path: Path
) -> None:
    extra = {"sync.topic.acls.enabled": "false", "offset-syncs.topic.location": "target"}
    scene = Scene(50, tmp_path, *sides, extra)
    grants = table_rights(scene)
    grants[TARGET].remove(TO_WRITE_MARKERS)
    grants[TARGET].append(Right("CLUSTER_ACTION", CLUSTER))
    written = {right.name for right in grants[SOURCE] if right.operation in ("CREATE", "WRITE")}
    assert written == {HEARTBEATS}, "offset syncs are not at the source"
    assert not [right for right in grants[SOURCE] if right.resource == CLUSTER]
    scene.prepare(grants)
    scene.run(set(scene.features) - {"rights"}, lambda: True)
    assert scene.named_rights() == set(), scene.said()


@pytest.mark.timeout(240)
def test_failback_needs_to_commit_at_the_source(sides: tuple[Side, Side], tmp_path: Path) -> None:
    source, target = sides
    scene = Scene(51, tmp_path, *sides)
    scene.prepare(table_rights(scene))
    scene.run({"group offsets", "copy"}, lambda: True)
    billing, user = scene.groups["billing"], f"User:{scene.users[SOURCE]}"
    words = (str(scene.file), "--flow", scene.flow.name, "--group", billing)
    done = run_command("failover", *words, "--force")
    print(done.stdout, done.stderr)
    target.commit(billing, scene.remote("grp"), 15)
    right = Right("READ", GROUP, billing)
    refused = run_command("failback", *words, "--force")
    print(refused.stdout, refused.stderr)
    assert refused.returncode == 1
    assert f"{user} has no {right.at(scene.here)}" in refused.stdout
    assert right.grant(user, source.servers) in refused.stdout
    source.grant(user, [right])
    await_condition(lambda: run_command("failback", *words, "--force").returncode == 0, "the way back", 30)
    assert source.committed(billing) == {(scene.topics["grp"], 0): 15}


@pytest.mark.timeout(900)
def test_without_one_right_exactly_what_it_is_for_is_lost(sides: tuple[Side, Side], tmp_path: Path) -> None:
    numbered = dict(enumerate(CASES, 1))
    rows: dict[int, str] = {}
    for number, each in numbered.items():
        if each.is_of_new_heartbeats:
            remove_heartbeats(*sides)
            rows[number] = run_case(each, number, tmp_path, sides)
    rest = {number: each for number, each in numbered.items() if not each.is_of_new_heartbeats}
    problems = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = {number: pool.submit(run_case, each, number, tmp_path, sides) for number, each in rest.items()}
        for number, run in runs.items():
            try:
                rows[number] = run.result()
            except AssertionError as error:
                problems.append(f"{rest[number]}: {error}")
    print("\nWITHOUT", *(rows[number] for number in sorted(rows)), sep="\n")
    assert not problems, "\n\n".join(problems)


def remove_heartbeats(*sides: Side) -> None:
    for side in sides:
        if side.is_there(HEARTBEATS):
            admin = AdminClient({"bootstrap.servers": side.servers, **AS_ADMIN})
            admin.delete_topics([HEARTBEATS])[HEARTBEATS].result(30)
            await_condition(lambda s=side: not s.is_there(HEARTBEATS), "the end of heartbeats")  # type: ignore[misc]
