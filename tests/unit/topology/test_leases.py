"""Lease planning: complete, even, spread, repeatable."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.topology.leases import SLACK, plan_leases
from sparkmirror.topology.partition import TopicPartition

partitions = st.builds(TopicPartition, st.sampled_from(["t", "u"]), st.integers(0, 200))
cases = st.dictionaries(partitions, st.tuples(st.integers(0, 4), st.floats(0, 1e9, allow_subnormal=False)), max_size=60)


@given(case=cases, tasks=st.integers(1, 20))
def test_each_partition_once_in_the_right_number_of_even_groups(
    case: dict[TopicPartition, tuple[int, float]], tasks: int
) -> None:
    leaders = {partition: leader for partition, (leader, _) in case.items()}
    weights = {partition: weight for partition, (_, weight) in case.items()}
    groups = plan_leases(list(case), tasks, leaders, weights)
    assert sorted(p for group in groups for p in group) == sorted(case)
    assert len(groups) == min(tasks, len(case))
    assert all(groups)
    if groups:
        weight = {p: max(1.0, w) for p, w in weights.items()}
        loads = [sum(weight[p] for p in group) for group in groups]
        bound = (1 + SLACK) * sum(loads) / len(loads) + max(weight.values())
        assert max(loads) <= bound * (1 + 1e-9)


@given(case=cases, tasks=st.integers(1, 20), seed=st.integers())
def test_the_order_of_the_input_does_not_matter(
    case: dict[TopicPartition, tuple[int, float]], tasks: int, seed: int
) -> None:
    leaders = {partition: leader for partition, (leader, _) in case.items()}
    weights = {partition: weight for partition, (_, weight) in case.items()}
    shuffled = list(case)
    random.Random(seed).shuffle(shuffled)
    assert plan_leases(shuffled, tasks, leaders, weights) == plan_leases(sorted(case), tasks, leaders, weights)


def test_idle_partitions_are_dealt_out_evenly() -> None:
    groups = plan_leases(range(1000), 8, {}, {})
    assert {len(group) for group in groups} == {125}


def test_each_lease_reads_from_every_leader() -> None:
    leaders = {number: number % 3 for number in range(36)}
    for group in plan_leases(range(36), 4, leaders, {}):
        assert Counter(leaders[number] for number in group) == {0: 3, 1: 3, 2: 3}


def test_partitions_of_one_leader_are_spread_though_traffic_differs_a_little() -> None:
    leaders = {number: number // 20 for number in range(60)}
    weights = {number: 1000.0 + number for number in range(60)}
    for group in plan_leases(range(60), 3, leaders, weights):
        assert max(Counter(leaders[number] for number in group).values()) <= 8


def test_a_heavy_partition_gets_a_lease_of_its_own() -> None:
    groups = plan_leases(["busy", "x", "y", "z"], 2, {}, {"busy": 1e6, "x": 10, "y": 10, "z": 10})
    assert groups == [["busy"], ["x", "y", "z"]]


def test_repeated_partitions_count_once_and_nothing_needs_no_lease() -> None:
    assert plan_leases([1, 1, 2], 5, {}, {}) == [[1], [2]]
    assert plan_leases([], 5, {}, {}) == []


def test_a_weight_that_is_no_number_counts_as_idle() -> None:
    assert plan_leases([1, 2], 2, {}, {1: float("nan"), 2: -5.0}) == [[1], [2]]


def test_no_tasks_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        plan_leases([1], 0, {}, {})
