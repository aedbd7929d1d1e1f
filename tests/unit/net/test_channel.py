"""What is sent over a connection that takes only a little at a time arrives whole."""

from __future__ import annotations

import random
import select

import pytest

from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.channel import MAX_PIECES, Channel
from sparkmirror.net.client import Client
from tests.support.loopback import API_VERSIONS, METADATA, Loopback

REQUESTS = 12
SEED = 7


def test_requests_in_many_pieces_pass_through_a_small_buffer() -> None:
    """The other side finds each by the size that the one before it said: a byte more or less would be noticed."""
    rng = random.Random(SEED)
    with Loopback(silent={METADATA}) as broker:
        channel = Channel("127.0.0.1", broker.port, Client(client_id="x", send_buffer_bytes=4096))
        for _ in range(REQUESTS):
            count = rng.choice((1, 5, MAX_PIECES + 200))
            channel.send(METADATA, 0, [bytes(rng.choice((0, 1, 3000))) for _ in range(count)], flexible=False)
        waited = 0
        while channel.wants_write:
            waited += 1
            select.select([], [channel], [])
            channel.flush()
        assert waited, "the buffer was large enough for all"
        channel.send(API_VERSIONS, 0, [], flexible=False)
        assert select.select([channel], [], [], 10.0)[0], "what came last was not understood"
        assert broker.count(METADATA) == REQUESTS
        channel.close()


@pytest.mark.parametrize(("host", "port"), [("x" * 64, 9092), ("a..b", 9092), ("127.0.0.1", 1 << 17)])
def test_a_place_that_cannot_be_is_as_one_that_is_away(host: str, port: int) -> None:
    """Brokers say what their listeners are called, and may be wrong."""
    with pytest.raises(ConnectionLostError, match="can't be reached"):
        Channel(host, port, Client())
