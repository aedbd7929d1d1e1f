"""What brokers of older releases can't do, by the requests that they know. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sparkmirror.doctor.facts import ClusterFacts
from sparkmirror.doctor.verdict import Judge, Verdict, some_of
from sparkmirror.net.cluster import NO_TOPIC_ID

FETCH, DESCRIBE_QUORUM, DESCRIBE_PRODUCERS, OFFSET_DELETE = 1, 55, 61, 47

Versions = Mapping[int, tuple[int, int]]


def release_of(versions: Versions) -> str:
    """The release that a broker is at least of."""
    oldest_fetch, newest_fetch = versions.get(FETCH, (0, -1))
    if oldest_fetch >= 4:
        return "4.0"
    if versions.get(DESCRIBE_QUORUM, (0, -1))[1] >= 1:
        return "3.3"
    if newest_fetch >= 13:
        return "3.1"
    if DESCRIBE_PRODUCERS in versions:
        return "2.8"
    return "2.4" if OFFSET_DELETE in versions else ""


def judge_versions(facts: ClusterFacts) -> Iterator[Verdict]:
    judge = Judge(facts.alias, "versions")
    known = {node: each.versions for node, each in facts.brokers.items() if not each.problem}
    known = known or {node: each.versions for node, each in enumerate(facts.bootstrap) if not each.problem}
    releases = {node: release_of(versions) for node, versions in known.items()}
    said = f"Kafka {min(releases.values(), default='')} or later"
    return judge.all_or(_find_lacks(judge, facts, known, releases), said)


def _find_lacks(
    judge: Judge, facts: ClusterFacts, known: Mapping[int, Versions], releases: Mapping[int, str]
) -> Iterator[Verdict]:
    ancient = [str(node) for node, release in releases.items() if not release]
    if ancient:
        yield judge.warns(
            f"brokers older than Kafka 2.4 ({some_of(ancient)}), which nobody has tried", "upgrade them to 2.8 or later"
        )
    mute = [str(node) for node, versions in known.items() if DESCRIBE_PRODUCERS not in versions]
    if mute:
        yield judge.warns(
            f"brokers older than Kafka 2.8 ({some_of(mute)}) can't be asked what they remember of a producer: as a "
            "target, each position is found from the log's end",
            "upgrade them to 2.8 or later",
        )
    topics = facts.metadata.topics.values() if facts.metadata else ()
    if any(topic.topic_id == NO_TOPIC_ID for topic in topics if not topic.error):
        yield judge.warns(
            "topics have no ids: one that is deleted and made anew is not noticed",
            "upgrade the brokers to 3.1 or later, with an inter.broker.protocol.version of 2.8 or later",
        )
