"""A client's properties, as Kafka's MirrorClientConfig has them. Others, of consumers for instance, are passed over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from sparkmirror.config.keys import KNOWN_KEYS, groups, topics
from sparkmirror.config.keys.key import Key
from sparkmirror.config.parts import NamingConfig
from sparkmirror.config.values import text_list
from sparkmirror.errors import ConfigError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.client import Client
from sparkmirror.net.security import Security
from sparkmirror.topology.choose import make_policy
from sparkmirror.topology.policy import ReplicationPolicy

CLIENT_ID = "sparkmirror-client"
_PROTOCOL = KNOWN_KEYS["security.protocol"]

T = TypeVar("T")


def parse_address(properties: Mapping[str, str]) -> ClusterAddress:
    bootstrap = _read(properties, topics.BOOTSTRAP_SERVERS)
    if not bootstrap:
        raise ConfigError("bootstrap.servers is missing: expected host:port, several with commas")
    _read(properties, _PROTOCOL)
    client = Client(client_id=CLIENT_ID, security=Security.of(properties, "client"))
    return ClusterAddress(alias=",".join(bootstrap), bootstrap=bootstrap, client=client)


def parse_policy(properties: Mapping[str, str]) -> ReplicationPolicy:
    """Remote names are known by the aliases in `clusters`; without these by what stands before the first separator."""
    naming = NamingConfig(
        policy_class=_read(properties, topics.POLICY_CLASS),
        separator=_read(properties, topics.SEPARATOR),
        internal_separator=_read(properties, topics.INTERNAL_SEPARATOR),
        internal_prefix=_read(properties, groups.INTERNAL_PREFIX),
        topics_map=(),
        identity_bidirectional=False,
        plugin_path=_read(properties, topics.PLUGIN_PATH),
    )
    aliases = text_list(properties.get("clusters", ""))
    return make_policy(naming, aliases, properties.get("source.cluster.alias"), properties)


def _read(properties: Mapping[str, str], key: Key[T]) -> T:
    try:
        return key.parse(properties.get(key.name, key.default))
    except ValueError as error:
        raise ConfigError(f"{key.name}: {error}") from None
