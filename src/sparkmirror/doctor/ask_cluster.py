"""Asks one cluster what every flow of it depends on. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address, reader_address, writer_address
from sparkmirror.doctor.facts import ClusterFacts, Configs
from sparkmirror.errors import SparkmirrorError
from sparkmirror.net import clock
from sparkmirror.net.address import ClusterAddress, parse_host_port
from sparkmirror.net.client import Client
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.configs import describe_broker_configs
from sparkmirror.net.reach import Reached, try_address

CONNECT_TIMEOUT_S = 4.0
AT_ONCE = 16

Place = tuple[str, int]


def ask_cluster(address: ClusterAddress) -> ClusterFacts:
    bootstrap = _try_all([parse_host_port(text) for text in address.bootstrap], address.client)
    facts = ClusterFacts(alias=address.alias, bootstrap=tuple(bootstrap.values()))
    if all(each.problem for each in facts.bootstrap):
        return facts
    with Cluster(living(address, facts)) as cluster:
        try:
            metadata = cluster.fetch_metadata()
        except SparkmirrorError as error:
            return replace(facts, metadata_problem=str(error))
        facts = replace(facts, metadata=metadata, shown_s=_own_certificate_s(address))
        return _ask_more(facts, cluster, metadata)


def _own_certificate_s(address: ClusterAddress) -> float | None:
    if not address.client.security.has_tls:
        return None
    from sparkmirror.net.tls.material import load_material, seconds_valid  # noqa: PLC0415 - where there is TLS

    material = load_material(address.client.security)
    return seconds_valid(material)[1] if material.chain else None


def living(address: ClusterAddress, facts: ClusterFacts) -> ClusterAddress:
    """The same cluster by those of its addresses that answer, so that nobody waits for the others."""
    alive = [each for each in facts.bootstrap if not each.problem]
    return replace(address, bootstrap=tuple(f"[{each.host}]:{each.port}" for each in alive))


def try_clients(flow: FlowConfig, clusters: Mapping[str, ClusterFacts]) -> dict[str, Reached]:
    """By the name of the client, where it has security settings other than the admin's, which was tried."""
    found = {}
    for cluster, mine in ((flow.source, reader_address(flow)), (flow.target, writer_address(flow))):
        security, admins = mine.client.security, flow_address(cluster, flow).client.security
        if (security.protocol, security.settings) != (admins.protocol, admins.settings):
            alive = next(each for each in clusters[cluster.alias].bootstrap if not each.problem)
            role = security.owner.removeprefix(f"{flow.name} ")
            found[role] = try_address(alive.host, alive.port, mine.client, CONNECT_TIMEOUT_S)
    return found


def _ask_more(facts: ClusterFacts, cluster: Cluster, metadata: Metadata) -> ClusterFacts:
    places = {node: (place.host, place.port) for node, place in metadata.brokers.items()}
    tried = _try_all(places.values(), cluster.address.client)
    brokers = {node: tried[place] for node, place in places.items()}
    configs, configs_problem = _ask_configs(cluster, brokers)
    facts = replace(facts, brokers=brokers, configs=configs, configs_problem=configs_problem)
    knows_time = [each for each in facts.bootstrap if each.versions.get(clock.API_KEY, (0, -1))[1] >= clock.WITH_TIMES]
    if not knows_time:
        return replace(facts, clock_problem="brokers tell their time without a write only from Kafka 3.3 on, in KRaft")
    try:
        return replace(facts, clock=clock.read_clock(cluster))
    except SparkmirrorError as error:
        return replace(facts, clock_problem=str(error))


def _ask_configs(cluster: Cluster, brokers: Mapping[int, Reached]) -> tuple[dict[int, Configs], str]:
    """Of each broker that can be reached by its name: none tells another's."""
    found: dict[int, Configs] = {}
    problem = ""
    for node, reached in brokers.items():
        if reached.problem:
            problem = problem or f"broker {node} can't be reached"
            continue
        try:
            found[node] = describe_broker_configs(cluster, node)
        except SparkmirrorError as error:
            problem = str(error)
    return found, problem


def _try_all(places: Iterable[Place], client: Client) -> dict[Place, Reached]:
    wanted = list(dict.fromkeys(places))
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="reach") as pool:
        tried = pool.map(lambda place: try_address(place[0], place[1], client, CONNECT_TIMEOUT_S), wanted)
        return dict(zip(wanted, tried, strict=True))
