"""A flow's problem is said when it comes, and not again and again."""

from __future__ import annotations

from sparkmirror.control.complaints import Complaints

AWAY, BUSY = "cluster A: no broker answers: h:1 refuses", "cluster A: no broker answers: h:1 did not answer within 3 s"


def test_what_stays_is_said_once_a_minute_whatever_its_words() -> None:
    complaints = Complaints()
    said = [complaints.is_to_say("unreachable", AWAY if at % 4 else BUSY, at) for at in range(0, 130, 2)]
    assert [2 * index for index, is_said in enumerate(said) if is_said] == [0, 60, 120]


def test_another_cluster_or_another_state_is_news() -> None:
    complaints = Complaints()
    assert complaints.is_to_say("unreachable", AWAY, 0)
    assert complaints.is_to_say("unreachable", AWAY.replace("cluster A", "cluster B"), 1)
    assert complaints.is_to_say("failing", AWAY.replace("cluster A", "cluster B"), 2)


def test_its_end_is_said_and_it_is_news_when_it_comes_again() -> None:
    complaints = Complaints()
    assert not complaints.end(), "it was well"
    assert complaints.is_to_say("unreachable", AWAY, 100)
    assert complaints.end() and not complaints.end()
    assert complaints.is_to_say("unreachable", AWAY, 110)


def test_what_comes_and_goes_all_the_time_does_not_fill_the_log() -> None:
    complaints, said = Complaints(), 0
    for at in range(60):
        said += complaints.is_to_say("unreachable", AWAY, at) + complaints.end()
    assert said <= 24
