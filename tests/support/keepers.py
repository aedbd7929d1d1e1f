"""A flow's keeper without Spark: it makes topics and keeps them alike, and nothing is copied."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.ledger import Ledger
from tests.support.kafka_client import await_condition


@contextlib.contextmanager
def keeping(flow: FlowConfig, deadline_s: float = 30) -> Iterator[tuple[FlowKeeper, Ledger]]:
    ledger = Ledger()
    keeper = FlowKeeper(flow, ledger, lambda: None)
    keeper.start()
    keeper.lead.allow()
    try:
        await_condition(lambda: keeper.view.leads and keeper.view.ends is not None, "the lead", deadline_s)
        yield keeper, ledger
    finally:
        keeper.stop()
