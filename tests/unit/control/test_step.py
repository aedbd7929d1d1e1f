"""A step of the driver's that a cluster does not answer ends by its deadline, and says by which key."""

from __future__ import annotations

import pytest

from sparkmirror.config.mirror import parse_mirror_config
from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.ledger import Ledger
from tests.support.kafka_client import await_condition
from tests.support.loopback import METADATA, Loopback


@pytest.mark.timeout(30)
def test_a_keeper_goes_on_after_a_step_that_took_too_long() -> None:
    with Loopback(silent=[METADATA]) as broker:
        text = (
            "clusters=a,b\na.bootstrap.servers={0}\nb.bootstrap.servers={0}\na->b.enabled=true\nadmin.timeout.ms=300\n"
        )
        (flow,) = parse_mirror_config(text.format(broker.server), "f").flows
        keeper = FlowKeeper(flow, Ledger(), lambda: None)
        keeper.start()
        try:
            await_condition(lambda: bool(keeper.view.problem), "the step's end", 4)
        finally:
            keeper.stop()
    assert "it was not done within 0.3 s (admin.timeout.ms): look at the brokers' load" in keeper.view.problem
