"""The lead is kept whatever its keeper waits for, and one that was lost meanwhile is taken anew."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.ledger import Ledger
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.claims import Claims
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import await_condition
from tests.support.keepers import keeping
from tests.support.loopback import METADATA, Loopback

pytestmark = pytest.mark.timeout(60)


def test_a_source_that_does_not_answer_costs_no_lead(pair: Pair, tmp_path: Path) -> None:
    with Loopback(silent={METADATA}) as source:
        flow = only_flow(write_flow(tmp_path, source.server, pair.target, "x", {"lease.seconds": "1"}))
        keeper = FlowKeeper(flow, Ledger(), lambda: None)
        keeper.start()
        keeper.lead.allow()
        try:
            await_condition(lambda: keeper.view.leads and source.count(METADATA) > 0, "the lead", 30)
            first, terms = keeper.view.generation, []

            def is_said_again() -> bool:
                terms.append(keeper.lead.term_s)
                return keeper.view.generation >= first + 4

            await_condition(is_said_again, "the lead to be said again, for more than a term", 30)
            assert keeper.view.landscape is None, "the keeper waits all the while"
            assert min(terms) > 0
        finally:
            keeper.stop()


def test_a_lead_that_another_had_between_two_records_is_taken_as_from_any_other(
    pair: Pair, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """This driver's second record was under way when the other led: progress and positions may be another's now."""
    caplog.set_level(logging.INFO, "sparkmirror")
    flow = only_flow(write_flow(tmp_path, pair.source, pair.target, "x"))
    with keeping(flow) as (keeper, _), Cluster(keeper.target.address) as beside:
        assert not keeper.lead.unguarded_wait_s
        mine, other = keeper._claims, Claims(beside, Storage.of(flow), 1)
        other.refresh()
        with mine._lock:
            other.lead(9.0)
            mine.lead(9.0)
        assert mine.leads(), "its record is the newest"
        await_condition(lambda: caplog.text.count(f"{flow.name}: leads, with") == 2, "the lead to be taken anew", 20)
        assert caplog.text.count(f"{flow.name}: another driver leads") == 1
        assert 9.0 < keeper.lead.unguarded_wait_s <= 11.0, "leases of the other may still write"


def test_who_ends_releases_no_lead_of_another(pair: Pair, tmp_path: Path) -> None:
    flow = only_flow(write_flow(tmp_path, pair.source, pair.target, "x"))
    with keeping(flow) as (keeper, _), Cluster(keeper.target.address) as beside:
        other = Claims(beside, Storage.of(flow), 1)
        with keeper._claims._lock:  # it can't look
            other.lead(9.0)
            keeper.lead._ended = True
        keeper.stop()
        other.refresh()
        assert other.leads()
