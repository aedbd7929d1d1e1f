"""What a survey says beside its rows: what could not be made, is not seen any more, or goes on in spite of a fact."""

from __future__ import annotations

from sparkmirror.control.survey import FlowSurvey
from sparkmirror.control.survey_rows import Bounds, PartitionRow, TopicRow
from sparkmirror.copy.receipt import NOTED, STOPPED, WAITING
from sparkmirror.topology.fact import Fact

REFUSED = Fact(kind=STOPPED, name="topic-refused", error="no CREATE; grant it: kafka-acls.sh")
HIDDEN = Fact(kind=STOPPED, name="unauthorized", error="no READ")
RESTAMPS = Fact(kind=NOTED, name="target-restamps", error="no times")
OPEN = Fact(kind=WAITING, name="open-transaction", error="one is open")
PASSING = Fact(kind=WAITING, error="the broker is away")


def row(topic: str, fact: Fact, target_end: int | None = 5) -> PartitionRow:
    bounds = Bounds(0, 5, 5, 0, target_end)
    return PartitionRow(
        topic=topic, partition=0, target_topic=f"A.{topic}", bounds=bounds, lag=0, state=fact.kind, fact=fact
    )


def topic(name: str, fact: Fact | None, target: str = "A.any") -> TopicRow:
    return TopicRow(topic=name, target_topic=target, fact=fact)


def test_each_trouble_is_told_once_and_in_its_place() -> None:
    survey = FlowSurvey(
        flow="A->B",
        topics=(topic("new", REFUSED), topic("hidden", HIDDEN, ""), topic("restamped", RESTAMPS), topic("well", None)),
        partitions=(row("new", REFUSED, None), row("open", OPEN), row("away", PASSING), row("stopped", HIDDEN)),
    )
    assert survey.unmade() == {"A.new": REFUSED.said}
    assert survey.unseen() == {HIDDEN.said: ["hidden"]}
    assert survey.told() == {RESTAMPS.said: ["restamped"], OPEN.said: ["open-0"]}
    assert list(survey.stuck()) == [HIDDEN.said]
