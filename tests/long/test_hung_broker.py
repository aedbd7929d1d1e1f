"""A broker of the target hangs: the lead is kept while others follow it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkmirror.embedded import KafkaCluster
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import await_condition
from tests.support.keepers import keeping


@pytest.mark.timeout(240)
@pytest.mark.parametrize("leads_claims", [True, False], ids=["the claims' leader", "another"])
def test_it_costs_no_lead(pair: Pair, tmp_path: Path, leads_claims: bool) -> None:
    """It is connected to, and does not answer."""
    with KafkaCluster(3, name="B") as target:
        everywhere = {"offset.storage.replication.factor": "3", "lease.seconds": "10"}
        flow = only_flow(write_flow(tmp_path, pair.source, target.bootstrap_servers, "x", everywhere))
        with keeping(flow) as (keeper, _):
            claims = Storage.of(flow).claims
            leader = keeper.target.fetch_metadata([claims]).topics[claims].leaders[0].node
            hung = next(broker for broker in target.brokers if (broker.id == leader) is leads_claims)
            hung.pause()
            try:
                first, terms = keeper.view.generation, []

                def is_said_again() -> bool:
                    terms.append(keeper.lead.term_s)
                    return keeper.view.generation >= first + 4

                await_condition(is_said_again, "the lead to be said again and again", 120)
            finally:
                hung.resume()
        print(f"the shortest term was {min(terms):.1f} s")
        assert min(terms) > 0
