"""A part of the driver is begun again after an error that nobody expected, and is given up if that does not help."""

from __future__ import annotations

import logging
import threading

import pytest

from sparkmirror.control import part
from sparkmirror.control.part import Part
from tests.support.kafka_client import await_condition


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(part, "LONGEST_PAUSE_S", 0.01)


class Fragile:
    """Fails so often, then works until it is told to end."""

    def __init__(self, failures: int) -> None:
        self.left = failures
        self.works = threading.Event()
        self.end = threading.Event()

    def __call__(self) -> None:
        self.left -= 1
        if self.left >= 0:
            raise TypeError("nobody thought of this")
        self.works.set()
        self.end.wait(10)


def test_it_is_begun_again_and_says_why_with_one_traceback(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "sparkmirror")
    work = Fragile(3)
    told: list[str] = []
    tried = Part("a part", work, told.append)
    tried.start()
    assert work.works.wait(10)
    assert (tried.state, tried.trouble) == ("failing", "TypeError: nobody thought of this")
    assert told == ["TypeError: nobody thought of this"] * 3
    assert [bool(record.exc_info) for record in caplog.records] == [True, False, False]
    work.end.set()
    assert tried.end(10)


def test_it_is_well_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "WELL_S", 0.0)
    work = Fragile(1)
    tried = Part("a part", work)
    tried.start()
    assert work.works.wait(10)
    assert tried.state == "well"
    work.end.set()
    assert tried.end(10)


def test_one_that_fails_on_and_on_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "GIVE_UP_S", 0.05)
    work = Fragile(1_000_000)
    tried = Part("a part", work)
    tried.start()
    await_condition(lambda: tried.is_broken, "its end", 10)
    assert tried.end(10)
    assert tried.state == "broken"


def test_who_ends_waits_for_no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "FIRST_PAUSE_S", 60.0)
    tried = Part("a part", Fragile(1_000_000))
    tried.start()
    await_condition(lambda: bool(tried.trouble), "its failure", 10)
    assert tried.end(10)


def test_one_that_never_began_has_ended() -> None:
    assert Part("a part", lambda: None).end(0.0)
