"""Who a client is to the brokers, and what is said when it lacks a right."""

from __future__ import annotations

import pytest

from sparkmirror.config.jaas import KERBEROS_MODULE, OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.client import Client
from sparkmirror.net.denial import describe_denial, refused
from sparkmirror.net.principal import ANONYMOUS, NOT_KNOWN, principal_of
from sparkmirror.net.security import Security
from sparkmirror.protocol import codes
from sparkmirror.topology.right import TOPIC, Right
from tests.support.sasl import jaas
from tests.support.tls import Secured

READ = Right("READ", TOPIC, "t")


def security_of(mechanism: str, login: str, **more: str) -> Security:
    settings = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": login}
    return Security.of(settings | {key.replace("_", "."): value for key, value in more.items()}, "A->B source admin")


@pytest.mark.parametrize(
    ("security", "principal"),
    [
        (Security(), ANONYMOUS),
        (security_of("PLAIN", jaas(PLAIN_MODULE, username="mirror", password="x")), "User:mirror"),
        (security_of("SCRAM-SHA-256", jaas(SCRAM_MODULE, username="mirror", password="x")), "User:mirror"),
        (
            security_of("SCRAM-SHA-256", jaas(SCRAM_MODULE, username="id", password="x", tokenauth="true")),
            NOT_KNOWN,
        ),
        (security_of("OAUTHBEARER", jaas(OAUTH_MODULE, unsecuredLoginStringClaim_sub="mirror")), "User:mirror"),
        (
            security_of(
                "GSSAPI",
                jaas(KERBEROS_MODULE, useKeyTab="true", keyTab="/k", principal="mirror/h1@REALM"),
                sasl_kerberos_service_name="kafka",
            ),
            "User:mirror",
        ),
        (
            security_of("GSSAPI", jaas(KERBEROS_MODULE, useTicketCache="true"), sasl_kerberos_service_name="kafka"),
            NOT_KNOWN,
        ),
        (Security.of({"security.protocol": "SSL"}, "o"), ANONYMOUS),
        (Security.of({"security.protocol": "SSL", "ssl.keystore.location": "/none"}, "o"), NOT_KNOWN),
    ],
)
def test_the_principal_is_what_brokers_make_of_a_login(security: Security, principal: str) -> None:
    assert principal_of(security) == principal


def test_a_missing_right_is_said_with_principal_operation_resource_and_command() -> None:
    security = security_of("PLAIN", jaas(PLAIN_MODULE, username="mirror", password="s3cret"))
    address = ClusterAddress(alias="A", bootstrap=("a1:9092", "a2:9092"), client=Client(security=security))
    said = str(refused(address, "t-0 can't be read", codes.TOPIC_AUTHORIZATION_FAILED, READ))
    assert said == (
        "t-0 can't be read: User:mirror has no READ on topic t of cluster A (TOPIC_AUTHORIZATION_FAILED (29)); "
        "grant it: kafka-acls.sh --bootstrap-server a1:9092,a2:9092 --add --allow-principal User:mirror "
        "--operation Read --topic t"
    )
    other = refused(address, "t-0 can't be read", codes.INVALID_REQUEST, READ, "it is wrong")
    assert str(other) == "t-0 can't be read: INVALID_REQUEST (42) it is wrong" and other.code == codes.INVALID_REQUEST
    assert describe_denial(address, READ).said == "User:mirror has no READ on topic t of cluster A"


def test_a_client_with_a_certificate_is_its_subject(secured: Secured) -> None:
    assert principal_of(Security.of(secured.of_client(), "o")) == "User:CN=me"
    assert principal_of(Security.of(secured.of_client(shows=False), "o")) == ANONYMOUS
