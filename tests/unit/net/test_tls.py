"""TLS between a channel and a broker of a few lines: bytes both ways, faults in words, files that change."""

from __future__ import annotations

import contextlib
import re
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from sparkmirror.errors import AuthenticationError, ConfigError, ConnectionLostError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.attempts import Attempts
from sparkmirror.net.channel import Channel
from sparkmirror.net.client import Client
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.security import Security
from sparkmirror.net.tls import context as contexts
from sparkmirror.net.tls import socket as tls_socket
from sparkmirror.net.tls.ciphers import to_openssl
from sparkmirror.net.tls.socket import (
    JOINED_BYTES,
    LARGE_BYTES,
    MOST_BYTES,
    MOST_TALK_BYTES,
    READ_BYTES,
    TlsSocket,
    gather,
    wrap_tls,
)
from tests.support.certificates import DAY, Authority, Identity
from tests.support.loopback import Loopback

OWNER = "a->b source admin"
LONG_S = 20.0


@dataclass(frozen=True)
class Party:
    """A CA, and what the two sides have of it."""

    ca: Authority
    broker: Identity
    trust: Path
    folder: Path

    def client(self, **settings: str) -> Client:
        named = {f"ssl.{name.replace('_', '.')}": value for name, value in settings.items()}
        given: Mapping[str, str] = {"ssl.truststore.location": str(self.trust), "security.protocol": "SSL"} | named
        return Client(security=Security.of({key: value for key, value in given.items() if value != "-"}, OWNER))

    def server(self, identity: Identity | None = None, *, asks: bool = False) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain((identity or self.broker).write_pem(self.folder / "broker.pem"))
        if asks:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=self.ca.pem)
        return context


@pytest.fixture(scope="module")
def party(tmp_path_factory: pytest.TempPathFactory) -> Party:
    folder = tmp_path_factory.mktemp("tls")
    ca = Authority()
    return Party(ca, ca.issue(), ca.write_pem(folder / "ca.pem"), folder)


def refusal(client: Client, tls: ssl.SSLContext | None, host: str = "127.0.0.1") -> str:
    with Loopback(tls=tls) as broker, pytest.raises(AuthenticationError) as caught:
        Channel(host, broker.port, client)
    return str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_channel_speaks_tls(party: Party, host: str) -> None:
    with Loopback(tls=party.server()) as broker:
        channel = Channel(host, broker.port, party.client())
        assert channel.versions
        channel.close()


def test_a_certificate_of_ours_is_shown(party: Party, tmp_path: Path) -> None:
    keys = party.ca.issue("me").write_pkcs12(tmp_path / "me.p12", "pw")
    client = party.client(keystore_location=str(keys), keystore_password="pw")
    with Loopback(tls=party.server(asks=True)) as broker:
        Channel("127.0.0.1", broker.port, client).close()


def test_faults_of_the_brokers_certificate_are_told_apart(party: Party, tmp_path: Path) -> None:
    other = Authority("other")
    assert "comes from no CA that stands in ssl.truststore.location=" in refusal(
        party.client(), party.server(other.issue())
    )
    no_trust = refusal(party.client(truststore_location="-"), party.server())
    assert "this machine trusts: set ssl.truststore.location" in no_trust
    elsewhere = party.server(party.ca.issue(hosts=["elsewhere.example"]))
    assert "is not for 127.0.0.1" in refusal(party.client(), elsewhere)
    assert "is not for localhost" in refusal(party.client(), elsewhere, "localhost")
    assert "has expired" in refusal(party.client(), party.server(party.ca.issue(begins=-3 * DAY, ends=-DAY)))
    tomorrow = party.ca.issue(begins=DAY, ends=3 * DAY)
    assert "this machine's clock is behind" in refusal(party.client(), party.server(tomorrow))
    with Loopback(tls=elsewhere) as broker:
        Channel("127.0.0.1", broker.port, party.client(endpoint_identification_algorithm="")).close()


def test_every_fault_names_client_and_place(party: Party) -> None:
    said = refusal(party.client(), party.server(Authority().issue()))
    assert re.match(rf"{OWNER}: 127\.0\.0\.1:\d+: its certificate", said)


@pytest.mark.parametrize("protocols", ["TLSv1.2", "TLSv1.3"])
def test_a_broker_that_wants_our_certificate_is_understood(party: Party, protocols: str, tmp_path: Path) -> None:
    asks = party.server(asks=True)
    assert "it wants a certificate of ours" in refusal(party.client(enabled_protocols=protocols), asks)
    stranger = Authority("stranger").issue("me").write_pem(tmp_path / "me.pem")
    client = party.client(enabled_protocols=protocols, keystore_location=str(stranger))
    assert "it refuses our certificate (ssl.keystore.location)" in refusal(client, asks)


def test_tls_where_there_is_none_and_none_where_there_is(party: Party) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:

        def hang_up() -> None:
            mute.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        with pytest.raises(AuthenticationError, match="closed the connection in the TLS handshake: see that this port"):
            Channel("127.0.0.1", mute.getsockname()[1], party.client())
    with Loopback(tls=party.server()) as broker, pytest.raises(ConnectionLostError, match=r"TLS.*security\.protocol"):
        Channel("127.0.0.1", broker.port, Client())


def test_a_handshake_that_hangs_ends_with_the_connections_time(party: Party) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(ConnectionLostError, match="no TLS handshake"):
        Channel("127.0.0.1", mute.getsockname()[1], party.client(), timeout_s=0.3)


def test_versions_and_suites_are_chosen(party: Party) -> None:
    def agreed(**settings: str) -> tuple[str, str]:
        with Loopback(tls=party.server()) as broker:
            plain = socket.create_connection(("127.0.0.1", broker.port))
            secure = wrap_tls(plain, "127.0.0.1", broker.port, party.client(**settings).security, LONG_S)
            with contextlib.closing(secure):
                cipher = secure.cipher()
                assert cipher is not None
                return secure.version() or "", cipher[0]

    assert agreed()[0] == "TLSv1.3"
    assert agreed(enabled_protocols="TLSv1.2")[0] == "TLSv1.2"
    assert agreed(protocol="TLSv1.2")[0] == "TLSv1.2"
    assert agreed(protocol="TLSv1.2", enabled_protocols="TLSv1.3")[0] == "TLSv1.3"
    only = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
    assert agreed(cipher_suites=only) == ("TLSv1.2", "ECDHE-ECDSA-CHACHA20-POLY1305")
    assert agreed(cipher_suites=f"{only}, TLS_AES_256_GCM_SHA384") == ("TLSv1.3", "TLS_AES_256_GCM_SHA384")
    with pytest.raises(AuthenticationError, match=r"is not among ssl\.cipher\.suites"):
        agreed(cipher_suites="TLS_CHACHA20_POLY1305_SHA256")
    for setting, value in {
        "cipher_suites": "TLS_MADE_UP_WITH_NOTHING",
        "enabled_protocols": "SSLv3",
        "endpoint_identification_algorithm": "ldaps",
    }.items():
        with pytest.raises(ConfigError, match=f"ssl.{setting.replace('_', '.')}"):
            contexts.context_of(party.client(**{setting: value}).security)


def test_javas_suites_have_names_in_openssl() -> None:
    """OpenSSL's own names, all of them, from the standard ones that Java uses."""
    known = {each["name"] for each in ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).get_ciphers()}
    for java in (
        "TLS_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        "TLS_DHE_RSA_WITH_AES_128_CBC_SHA256",
    ):
        assert to_openssl(java) in known
    assert to_openssl("TLS_RSA_WITH_AES_128_CBC_SHA") == "AES128-SHA"
    assert to_openssl("SSL_RSA_WITH_3DES_EDE_CBC_SHA") == "DES-CBC3-SHA"


def test_changed_files_are_read_again_and_broken_ones_are_not(party: Party, tmp_path: Path) -> None:
    old, new = Authority("old"), Authority("new")
    trust = old.write_pem(tmp_path / "ca.pem")
    client = party.client(truststore_location=str(trust))
    with Loopback(tls=party.server(old.issue())) as broker:
        Channel("127.0.0.1", broker.port, client).close()
        first = contexts.context_of(client.security)
        trust.write_text("half a fi")
        Channel("127.0.0.1", broker.port, client).close()
        assert contexts.context_of(client.security) is first
    new.write_pem(trust)
    with Loopback(tls=party.server(new.issue())) as broker:
        Channel("127.0.0.1", broker.port, client).close()


def test_no_private_key_is_written_to_disk(party: Party, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = party.ca.issue("me").write_pkcs12(tmp_path / "me.p12", "pw")
    loaded: list[str] = []

    load = ssl.SSLContext.load_cert_chain

    def watched(context: ssl.SSLContext, path: str) -> None:
        loaded.append(str(Path(path).readlink()))
        load(context, path)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", watched)
    contexts.context_of(party.client(keystore_location=str(keys), keystore_password="pw").security)
    assert loaded == ["/memfd:key (deleted)"]


def test_small_pieces_are_sent_together_and_large_ones_as_they_are() -> None:
    head, large = b"head", memoryview(bytes(LARGE_BYTES))
    assert gather([large, head]) is large
    assert gather([head]) is head
    assert len(gather([bytes(MOST_BYTES + 1)])) == MOST_BYTES
    assert gather([head, b"body", bytes(JOINED_BYTES), b"more"]) == b"headbody"


@pytest.fixture
def echo(party: Party) -> Iterator[int]:
    """Reads slowly and gives back all that it was sent."""
    listener = socket.create_server(("127.0.0.1", 0))
    context = party.server()

    def serve() -> None:
        with context.wrap_socket(listener.accept()[0], server_side=True) as connection:
            while some := connection.recv(1 << 20):
                connection.sendall(some)

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


def without(pieces: list[memoryview], count: int) -> list[memoryview]:
    """What is left of them after so many bytes."""
    while count >= len(pieces[0]):
        count -= len(pieces[0])
        pieces = pieces[1:]
        if not pieces:
            return []
    return [pieces[0][count:], *pieces[1:]]


def test_large_messages_pass_whole_through_small_buffers(party: Party, echo: int) -> None:
    """OpenSSL wants to be given again what it could not send, and holds plaintext that no selector sees."""
    plain = socket.create_connection(("127.0.0.1", echo))
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        plain.setsockopt(socket.SOL_SOCKET, option, 64 << 10)
    secure = wrap_tls(plain, "127.0.0.1", echo, party.client().security, LONG_S)
    secure.setblocking(False)
    left = [memoryview(bytes([n]) * size) for n, size in enumerate([10, 300_000, 7, 20_000, 40_000, 1_000_000])]
    sent, got = b"".join(left), bytearray()
    while len(got) < len(sent):
        assert any(select.select([secure], [secure] if left else [], [], LONG_S))
        with contextlib.suppress(BlockingIOError):
            while left:
                left = without(left, secure.sendmsg(left))
        with contextlib.suppress(BlockingIOError):
            while some := secure.recv(100_000):
                got += some
    assert bytes(got) == sent
    secure.close()


def connect(party: Party, port: int) -> TlsSocket:
    plain = socket.create_connection(("127.0.0.1", port))
    secure = wrap_tls(plain, "127.0.0.1", port, party.client().security, LONG_S)
    secure.setblocking(False)
    return secure


def send_all(secure: TlsSocket, data: bytes) -> None:
    left = [memoryview(data)]
    while left:
        with contextlib.suppress(BlockingIOError):
            left = without(left, secure.sendmsg(left))


def await_readable(secure: TlsSocket) -> None:
    assert select.select([secure], [], [], LONG_S)[0]


@pytest.mark.parametrize("read_bytes", [READ_BYTES, 30_000])
def test_a_read_brings_all_records_that_are_there(
    party: Party, echo: int, monkeypatch: pytest.MonkeyPatch, read_bytes: int
) -> None:
    """As of a plain socket, so that a selector shows whatever is left, however much the system hands out at once."""
    monkeypatch.setattr(tls_socket, "READ_BYTES", read_bytes)
    monkeypatch.setattr(tls_socket._scratch, "view", memoryview(bytearray(read_bytes)))
    with contextlib.closing(connect(party, echo)) as secure:
        send_all(secure, bytes(100_000))
        secure.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 100_000)
        await_readable(secure)
        assert secure.recv_into(memoryview(bytearray(200_000))) == 100_000
        with pytest.raises(BlockingIOError):
            secure.recv(1)


@pytest.mark.parametrize("is_broken", [True, False])
def test_what_came_before_the_end_is_read_before_it(party: Party, is_broken: bool) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with party.server().wrap_socket(listener.accept()[0], server_side=True) as connection:
            connection.sendall(b"last words")
            if is_broken:
                socket.socket.sendall(connection, b"\x17\x03\x03\x00\x20" + bytes(32))  # can't be opened

    thread = threading.Thread(target=serve)
    thread.start()
    with listener, contextlib.closing(connect(party, listener.getsockname()[1])) as secure:
        thread.join(LONG_S)
        await_readable(secure)
        assert secure.recv(100) == b"last words"
        for _ in range(2):
            with pytest.raises(ssl.SSLError) if is_broken else contextlib.nullcontext():
                assert secure.recv(100) == b""


def test_a_fault_is_said_again_and_again_though_the_other_side_falls_silent(party: Party) -> None:
    """No selector shows it a second time."""
    listener, over = socket.create_server(("127.0.0.1", 0)), threading.Event()

    def serve() -> None:
        with party.server().wrap_socket(listener.accept()[0], server_side=True) as connection:
            connection.sendall((6).to_bytes(4, "big") + b"answer")
            socket.socket.sendall(connection, b"\x17\x03\x03\x00\x20" + bytes(32))  # can't be opened
            over.wait(LONG_S)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with listener, contextlib.closing(connect(party, listener.getsockname()[1])) as secure:
            found = b""
            while not secure.has_ended:
                await_readable(secure)
                with contextlib.suppress(BlockingIOError):
                    found += secure.recv(100)
            assert found.endswith(b"answer")
            for _ in range(3):
                with pytest.raises(ssl.SSLError):
                    secure.recv(100)
                with pytest.raises(ssl.SSLError):
                    secure.check()
    finally:
        over.set()
        thread.join(LONG_S)


def shake_hands(
    party: Party, ours: socket.socket, theirs: socket.socket
) -> tuple[TlsSocket, ssl.SSLObject, ssl.MemoryBIO]:
    """With a broker in memory: what it says stands in the last of them."""
    secure = TlsSocket(ours, contexts.context_of(party.client().security), "127.0.0.1")
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    broker = party.server().wrap_bio(incoming, outgoing, server_side=True)
    thread = threading.Thread(target=secure.shake_hands, args=[LONG_S])
    thread.start()
    while True:
        try:
            broker.do_handshake()
            break
        except ssl.SSLWantReadError:
            theirs.sendall(outgoing.read())
            incoming.write(theirs.recv(1 << 16))
    theirs.sendall(outgoing.read())
    thread.join(LONG_S)
    secure.setblocking(False)
    return secure, broker, outgoing


def test_reading_neither_sends_the_rest_of_a_piece_nor_takes_it_for_openssl_s_own_words(party: Party) -> None:
    """What was sealed may be an append whose lease is over by now."""
    ours, theirs = socket.socketpair()
    with theirs, contextlib.closing(ours):
        secure, broker, said = shake_hands(party, ours, theirs)
        secure._sealed = memoryview(b"a word of OpenSSL's that the system did not take")
        with contextlib.suppress(BlockingIOError):
            while True:
                ours.send(bytes(1 << 16))
        with pytest.raises(BlockingIOError):
            secure.sendmsg([bytes(MOST_BYTES)])
        held = secure._outgoing.pending
        assert held > MOST_TALK_BYTES
        broker.write(b"an answer")
        theirs.sendall(said.read())
        theirs.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while theirs.recv(1 << 20):  # there is room again
                pass
        assert secure.recv(100) == b"an answer"
        assert secure._outgoing.pending == held and not secure.has_ended


def test_who_sends_a_byte_now_and_then_does_not_hold_up_the_handshake(party: Party) -> None:
    with socket.create_server(("127.0.0.1", 0)) as slow:

        def drip() -> None:
            with slow.accept()[0] as connection, contextlib.suppress(OSError):
                connection.sendall(b"\x16\x03\x03\x40\x00")  # a record of 16 KB begins
                while True:
                    connection.sendall(b"\0")
                    time.sleep(0.005)

        threading.Thread(target=drip, daemon=True).start()
        began = time.monotonic()
        with pytest.raises(ConnectionLostError, match="no TLS handshake"):
            Channel("127.0.0.1", slow.getsockname()[1], party.client(), timeout_s=0.3)
        assert time.monotonic() - began < 2


def test_who_is_refused_is_not_tried_in_a_hurry(party: Party) -> None:
    with Loopback(tls=party.server(Authority().issue())) as broker:
        address = ClusterAddress(alias="a", bootstrap=(broker.server,), client=party.client())
        for _ in range(5):  # each lease has a cluster of its own
            with Cluster(address) as cluster, pytest.raises(ConnectionLostError, match=r"cluster a: .*from no CA"):
                cluster.fetch_metadata()
        assert len(broker.connections) == 1


def test_refusals_are_further_and_further_apart() -> None:
    attempts = Attempts(Client(security=Security.of({"security.protocol": "SSL"}, "x")))
    place, now = ("h", 1), 100.0
    waits = []
    for _ in range(4):
        attempts.note_refusal(place, now, "no")
        until = next(t / 2 for t in range(1_000) if not attempts.why_refused(place, now + t / 2))
        waits.append(until)
        now += until
    assert waits == [1, 2, 4, 4]
    assert Attempts(Client(security=Security.of({"security.protocol": "SSL"}, "x"))).why_refused(place, now - 1) == "no"
    attempts.note_success(place)
    assert not attempts.why_refused(place, now - 1)
