"""One real broker with a listener for each way to be refused, and all that a client can be told wrong."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from sparkmirror.embedded import KafkaCluster
from sparkmirror.embedded.java import STOCK_JVM_FLAGS
from sparkmirror.net.sasl.tokens import make_unsecured
from tests.support import sasl
from tests.support.certificates import DAY, Authority
from tests.support.kdc import REALM
from tests.support.kerberos import SERVICE, Realm, kerberos_realm
from tests.support.tls import PASSWORD, Secured
from tests.support.token_endpoint import CLIENT, SECRET, TokenEndpoint

OPEN = "PLAINTEXT"
TLS = {"SSL": "SSL", "MTLS": "SSL", "EXPIRED": "SSL", "EARLY": "SSL", "ELSEWHERE": "SSL"}
ASKING, NARROW, ASKING_TLS, KERBEROS = "ASKING", "NARROW", "ASKINGTLS", "KERBEROS"
WRONG, PASSPHRASE = "wr0ng-s3cret", "s3cret-of-the-signer"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
SECRETS = (PASSWORD, sasl.PASSWORD, SECRET, WRONG, PASSPHRASE)
ASSERTION = "sasl.oauthbearer.assertion"


@dataclass(frozen=True)
class Fault:
    """What one side is told, where it goes with that, and what the error must say of it."""

    listener: str
    settings: Mapping[str, str]
    says: tuple[str, ...]


@dataclass(frozen=True)
class World:
    """`realm`: or why there is none. The endpoint is well, `dead_url` is of one that is not."""

    cluster: KafkaCluster
    secured: Secured
    realm: Realm | str
    endpoint: TokenEndpoint
    dead_url: str

    def servers_of(self, listener: str) -> str:
        return self.cluster.bootstrap_servers if listener == OPEN else self.cluster.servers_of(listener)

    def signing(self, **more: str) -> dict[str, str]:
        """A client that the endpoint knows by what it signs."""
        signed = {"claim.iss": CLIENT, "private.key.file": str(self.secured.folder / "signer.pem")}
        signed |= {"private.key.passphrase": PASSPHRASE} | {key.replace("_", "."): text for key, text in more.items()}
        known = sasl.endpoint_settings(self.endpoint.url, CLIENT, "")
        return known | {f"{ASSERTION}.{key}": text for key, text in signed.items()}


@contextlib.contextmanager
def faulty_world(folder: Path) -> Iterator[World]:
    secured = Secured.make(folder)
    stores = {
        "expired": secured.ca.issue(begins=-3 * DAY, ends=-DAY),
        "early": secured.ca.issue(begins=DAY, ends=3 * DAY),
        "elsewhere": secured.ca.issue(hosts=["elsewhere.example"]),
    }
    settings = {
        f"listener.name.{name}.ssl.keystore.location": str(identity.write_pem(folder / f"{name}.pem"))
        for name, identity in stores.items()
    }
    lock = serialization.BestAvailableEncryption(PASSPHRASE.encode())
    signer = KEY.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock)
    (folder / "signer.pem").write_bytes(signer)
    for listener in (ASKING, ASKING_TLS):
        settings |= sasl.server_settings(listener)
    settings |= sasl.server_settings(NARROW, {"SCRAM-SHA-256": sasl.SERVER_LOGINS["SCRAM-SHA-256"]})
    listeners = TLS | {ASKING: "SASL_PLAINTEXT", NARROW: "SASL_PLAINTEXT", ASKING_TLS: "SASL_SSL"}
    flags = list(STOCK_JVM_FLAGS)
    with contextlib.ExitStack() as stack:
        realm = stack.enter_context(kerberos_realm(folder / "kdc"))
        if not isinstance(realm, str):
            settings |= sasl.server_settings(KERBEROS, {"GSSAPI": realm.server_login}) | SERVICE
            listeners |= {KERBEROS: "SASL_PLAINTEXT"}
            flags.append(realm.jvm_flag)
        with TokenEndpoint() as dead:
            dead_url = dead.url
        endpoint = stack.enter_context(TokenEndpoint(sasl.USER, key=KEY.public_key()))
        overrides = secured.of_brokers | settings
        cluster = KafkaCluster(name="faults", listeners=listeners, overrides=overrides, jvm_flags=flags)
        stack.enter_context(cluster)
        sasl.add_user(cluster)
        yield World(cluster, secured, realm, endpoint, dead_url)


def all_faults(world: World) -> dict[str, Fault]:
    found = _of_certificates(world) | _of_stores(world) | _of_protocols(world) | _of_passwords() | _of_tokens(world)
    return found if isinstance(world.realm, str) else found | _of_kerberos(world.realm)


def _of_certificates(world: World) -> dict[str, Fault]:
    secured, folder = world.secured, world.secured.folder
    other = Authority("other").write_pem(folder / "other.pem")
    ended = secured.ca.issue("me", begins=-3 * DAY, ends=-DAY).write_pem(folder / "me-ended.pem")
    early = secured.ca.issue("me", begins=DAY, ends=3 * DAY).write_pem(folder / "me-early.pem")
    trusting = secured.of_client(shows=False)
    key = "ssl.keystore.location"
    return {
        "wrong CA": Fault(
            "SSL", trusting | {"ssl.truststore.location": str(other)}, (f"ssl.truststore.location={other}", "no CA")
        ),
        "wrong host name": Fault(
            "ELSEWHERE",
            trusting,
            ("is not for 127.0.0.1", "bootstrap.servers", "ssl.endpoint.identification.algorithm"),
        ),
        "broker's certificate has expired": Fault("EXPIRED", trusting, ("its certificate", "has expired: renew it")),
        "broker's certificate is not valid yet": Fault("EARLY", trusting, ("not valid yet", "clock is behind")),
        "our certificate has expired": Fault("MTLS", trusting | {key: str(ended)}, (key, "has expired")),
        "our certificate is not valid yet": Fault("MTLS", trusting | {key: str(early)}, (key, "is not valid yet")),
        "we show no certificate": Fault("MTLS", trusting, ("it wants a certificate of ours", key)),
    }


def _of_stores(world: World) -> dict[str, Fault]:
    well = world.secured.of_client()
    return {
        "key store's password is wrong": Fault(
            "MTLS", well | {"ssl.keystore.password": WRONG}, ("the password is wrong", "see ssl.keystore.password")
        ),
        "trust store's password is wrong": Fault(
            "SSL", well | {"ssl.truststore.password": WRONG}, ("the password is wrong", "see ssl.truststore.password")
        ),
        "trust store is missing": Fault(
            "SSL", well | {"ssl.truststore.location": "/no/such.p12"}, ("ssl.truststore.location: /no/such.p12 can't",)
        ),
    }


def _of_protocols(world: World) -> dict[str, Fault]:
    plain = sasl.client_settings("PLAIN")
    return {
        "TLS to a port without": Fault(OPEN, world.secured.of_client(), ("TLS", "security.protocol=SSL")),
        "no TLS to a port with it": Fault("SSL", {}, ("speaks TLS", "set security.protocol")),
        "SASL to a port without": Fault(OPEN, plain, ("security.protocol has SASL and this listener has not",)),
        "no SASL to a port with it": Fault(ASKING, {}, ("a listener with SASL does so", "security.protocol")),
        "SASL without TLS to a port with TLS": Fault(ASKING_TLS, plain, ("speaks TLS", "set security.protocol")),
        "disabled mechanism": Fault(NARROW, plain, ("sasl.mechanism PLAIN is not enabled there, only SCRAM-SHA-256",)),
    }


def _of_passwords() -> dict[str, Fault]:
    return {
        f"wrong password, {mechanism}": Fault(
            ASKING,
            sasl.client_settings(mechanism, password=WRONG),
            (f"refuses user '{sasl.USER}'", "check username and password in sasl.jaas.config"),
        )
        for mechanism in ("PLAIN", "SCRAM-SHA-256")
    }


def _of_tokens(world: World) -> dict[str, Fault]:
    folder, url = world.secured.folder, "sasl.oauthbearer.token.endpoint.url"
    ended = make_unsecured({"unsecuredLoginLifetimeSeconds": "-600"}, time.time()).text
    nobodys = make_unsecured({}, time.time()).text
    soon = {"sasl.login.retry.backoff.max.ms": "100"}
    known = sasl.endpoint_settings
    return {
        "token has ended": Fault(ASKING, sasl.write_token(folder / "ended", ended), (f"{url}: the token in", "ended")),
        "broker refuses the token": Fault(
            ASKING, sasl.write_token(folder / "nobodys", nobodys), ("refuses our token", "see that the token is for")
        ),
        "token file is missing": Fault(
            ASKING, sasl.write_token(folder / "gone", "") | {url: "file:/no/such"}, (f"{url}: can't read /no/such",)
        ),
        "token endpoint refuses the secret": Fault(
            ASKING, known(world.endpoint.url, CLIENT, WRONG), ("401", "check sasl.oauthbearer.client.credentials.*")
        ),
        "token endpoint refuses the signature": Fault(
            ASKING, world.signing(claim_exp_seconds="0"), ("401", f"check {ASSERTION}.*", "clock")
        ),
        "signer's passphrase is wrong": Fault(
            ASKING, world.signing(private_key_passphrase=WRONG), (f"{ASSERTION}.private.key.passphrase",)
        ),
        "token endpoint is down": Fault(
            ASKING, known(world.dead_url, CLIENT, SECRET) | soon, (f"{url}: the token endpoint", "see that it is well")
        ),
    }


def _of_kerberos(realm: Realm) -> dict[str, Fault]:
    service = "sasl.kerberos.service.name"
    return {
        "keytab is missing": Fault(
            KERBEROS, realm.client_settings(keyTab="/no/such"), ("sasl.jaas.config", "keytab /no/such is not there")
        ),
        "keytab of somebody else": Fault(
            KERBEROS, realm.client_settings(principal=f"eve@{REALM}"), ("sasl.jaas.config", f"keytab {realm.keytab}")
        ),
        "wrong Kerberos service": Fault(
            KERBEROS, realm.client_settings() | {service: "other"}, ("the realm knows other/", service)
        ),
    }
