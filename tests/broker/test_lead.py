"""The lead is kept whatever its keeper waits for."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.ledger import Ledger
from tests.conftest import Pair
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import await_condition
from tests.support.loopback import METADATA, Loopback


@pytest.mark.timeout(60)
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
