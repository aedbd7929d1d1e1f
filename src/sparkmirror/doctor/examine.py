"""Everything tried at the same time, and judged: this machine, then the clusters, then the flows.

A judge is added to the tuples below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

from sparkmirror.config.model import FlowConfig, MirrorConfig
from sparkmirror.control.address import flow_address
from sparkmirror.doctor.ask_cluster import ask_cluster, living, try_clients
from sparkmirror.doctor.ask_flow import FlowAsker
from sparkmirror.doctor.certificates import judge_certificates
from sparkmirror.doctor.clock import judge_clock
from sparkmirror.doctor.factors import judge_factors
from sparkmirror.doctor.facts import ClusterFacts, FlowFacts
from sparkmirror.doctor.machine import SparkTrial, try_java
from sparkmirror.doctor.producers import judge_producers
from sparkmirror.doctor.reach import judge_clients, judge_names, judge_reach
from sparkmirror.doctor.replicas import judge_replicas
from sparkmirror.doctor.rights import judge_rights, judge_topics
from sparkmirror.doctor.sizes import judge_sizes
from sparkmirror.doctor.standing import judge_rival, judge_standing, judge_start
from sparkmirror.doctor.verdict import Judge, Level, Verdict
from sparkmirror.doctor.versions import judge_versions
from sparkmirror.doctor.weakness import judge_weaknesses
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster

AT_ONCE = 8

OF_CLUSTERS: tuple[Callable[[ClusterFacts], Iterator[Verdict]], ...] = (
    judge_names,
    judge_certificates,
    judge_versions,
    judge_clock,
)


def examine(config: MirrorConfig) -> list[Verdict]:
    """Spark takes the longest, and starts while the clusters are asked."""
    java, weak = try_java(), judge_weaknesses(config)
    if java.level is not Level.PASS:
        return [java, *weak, *examine_clusters(config)]
    spark = SparkTrial(config.spark)
    clusters = examine_clusters(config)
    return [java, spark.result(), *weak, *clusters]


def examine_clusters(config: MirrorConfig) -> list[Verdict]:
    addresses = _addresses(config)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="doctor") as pool:
        facts = dict(zip(addresses, pool.map(ask_cluster, addresses.values()), strict=True))
        found = [verdict for each in facts.values() for verdict in _judge_cluster(each)]
        flows = pool.map(lambda flow: _examine_flow(flow, facts, is_pair=False), config.flows)
        pairs = pool.map(lambda pair: _examine_flow(pair, facts, is_pair=True), config.heartbeat_pairs)
        examined = [*flows, *pairs]
    found += judge_factors([each.facts for each in examined if each.facts], facts)
    return found + [verdict for each in examined for verdict in each.verdicts]


def _addresses(config: MirrorConfig) -> dict[str, ClusterAddress]:
    """Of clusters that a flow uses, in the order of the file."""
    needed = {
        cluster.alias: flow_address(cluster, flow)
        for flow, ends in (
            *((pair, (pair.target,)) for pair in config.heartbeat_pairs),
            *((flow, (flow.source, flow.target)) for flow in config.flows),
        )
        for cluster in ends
    }
    return {cluster.alias: needed[cluster.alias] for cluster in config.clusters if cluster.alias in needed}


def _judge_cluster(facts: ClusterFacts) -> Iterator[Verdict]:
    yield from judge_reach(facts)
    if facts.metadata is not None:
        for judge in OF_CLUSTERS:
            yield from judge(facts)


class _Examined(NamedTuple):
    """`facts` is None where a cluster does not answer."""

    facts: FlowFacts | None
    verdicts: list[Verdict]


def _examine_flow(flow: FlowConfig, clusters: Mapping[str, ClusterFacts], *, is_pair: bool) -> _Examined:
    ends = (flow.target,) if is_pair else (flow.source, flow.target)
    dead = [end.alias for end in ends if clusters[end.alias].metadata is None]
    if dead:
        said = f"not checked: cluster {' and '.join(dead)} does not answer"
        return _Examined(None, [Judge(flow.name, "flow").skips(said, "see that it does, and run it again")])
    with ExitStack() as stack:
        asked = {
            end.alias: stack.enter_context(Cluster(living(flow_address(end, flow), clusters[end.alias])))
            for end in ends
        }
        facts = FlowAsker(flow, asked).ask(clusters, is_pair=is_pair)
    if not is_pair:
        facts = replace(facts, clients=try_clients(flow, clusters))
    return _Examined(facts, list(_judge_flow(facts, clusters, is_pair=is_pair)))


def _judge_flow(facts: FlowFacts, clusters: Mapping[str, ClusterFacts], *, is_pair: bool) -> Iterator[Verdict]:
    target = clusters[facts.flow.target.alias]
    if not is_pair:
        yield from judge_clients(facts)
        yield from judge_topics(facts)
        yield from judge_standing(facts)
        yield from judge_start(facts)
        yield from judge_rival(facts)
    yield from judge_rights(facts, clusters)
    yield from judge_replicas(facts, clusters)
    if not is_pair:
        yield from judge_sizes(facts, target)
        yield from judge_producers(facts.flow, target)
