"""What the mirror's user may do on a target, found by asking for something that changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from sparkmirror.errors import BrokerError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.transactions import EmptyTransactions
from sparkmirror.protocol import codes, markers

_NO_SUCH_PARTITION = 2**31 - 1


def may_write_markers(cluster: Cluster, topic: str, producer_id: int) -> bool:
    """A marker for a partition that can't exist: the right is looked at before the partition."""
    nowhere = (topic, _NO_SUCH_PARTITION)

    def body(version: int) -> Sequence[bytes]:
        return markers.encode_markers(
            version, {nowhere: 1}, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0
        )

    version, frame = cluster.call_raw_any(markers.API_KEY, (1, 0), body)
    return markers.parse_markers(version, frame).get(nowhere) != codes.CLUSTER_AUTHORIZATION_FAILED


def may_use_transactions(cluster: Cluster, transactional_id: str) -> bool:
    try:
        EmptyTransactions(cluster, transactional_id).begin()
    except BrokerError as error:
        if error.code == codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return False
        raise
    return True
