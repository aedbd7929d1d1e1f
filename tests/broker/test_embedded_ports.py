"""A cluster on chosen ports."""

from __future__ import annotations

import pytest

from sparkmirror.embedded import KafkaCluster
from sparkmirror.embedded.ports import reserve_port
from sparkmirror.embedded.probe import fetch_broker_ids
from sparkmirror.errors import SetupError


def test_cluster_answers_on_the_chosen_port_and_keeps_it_for_itself() -> None:
    port = reserve_port()
    port.release()
    with KafkaCluster(ports=[port.number]) as cluster:
        assert cluster.bootstrap_servers == f"127.0.0.1:{port.number}"
        assert fetch_broker_ids("127.0.0.1", port.number) == {1}
        second = KafkaCluster(ports=[port.number])
        with pytest.raises(SetupError, match="is taken"):
            second.start()
        assert not second.directory.exists()
    with KafkaCluster(ports=[port.number]) as again:
        assert again.brokers[0].port == port.number
