"""Names that brokers and clients choose: of hosts."""

from __future__ import annotations

from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.address import check_place
from tests.fuzz.target import Target


def _check_host(data: bytes) -> None:
    """What passes can be asked for without another error than the system's own."""
    host = data.decode("utf-8", "surrogateescape")
    try:
        check_place(host, 9092)
    except ConnectionLostError as error:
        assert str(error).isprintable() and len(str(error)) < 2000
        raise
    host.encode("idna")


TARGETS = [
    Target(
        "host",
        _check_host,
        [b"broker-1.example.org", b"127.0.0.1", b"::1", b"fe80::1%eth0", "bücher.example".encode(), b"kafka_0.kafka"],
        (ConnectionLostError,),
    ),
]
