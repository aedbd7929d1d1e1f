"""A realm with a broker's principal and a mirror's, and what both sides are told of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sparkmirror.config.jaas import KERBEROS_MODULE
from sparkmirror.embedded.ports import HOST
from tests.support import sasl
from tests.support.kdc import REALM, Kdc, find_kit

BROKER, CLIENT = f"kafka/{HOST}", "mirror"
SERVICE = {"sasl.kerberos.service.name": "kafka"}


@dataclass(frozen=True)
class Realm:
    kdc: Kdc
    keytab: Path
    brokers_keytab: Path

    @property
    def server_login(self) -> str:
        options = {"useKeyTab": "true", "storeKey": "true", "keyTab": str(self.brokers_keytab)}
        return sasl.jaas(KERBEROS_MODULE, **options, principal=f"{BROKER}@{REALM}")

    @property
    def jvm_flag(self) -> str:
        return f"-Djava.security.krb5.conf={self.kdc.krb5_conf}"

    def client_login(self, **options: str) -> str:
        given = {"useKeyTab": "true", "keyTab": str(self.keytab), "principal": f"{CLIENT}@{REALM}"}
        return sasl.jaas(KERBEROS_MODULE, **(given | options))

    def settings_of(self, principal: str, life_s: int = 3600) -> dict[str, str]:
        """Of somebody new, for whom no ticket is at hand. His tickets last so long."""
        return self.client_settings(keyTab=str(self.kdc.add(principal, life_s)), principal=f"{principal}@{REALM}")

    def client_settings(self, **options: str) -> dict[str, str]:
        return {"security.protocol": "SASL_PLAINTEXT", "sasl.jaas.config": self.client_login(**options), **SERVICE}


@contextlib.contextmanager
def kerberos_realm(folder: Path) -> Iterator[Realm | str]:
    """Or why there is none. Inside the block this process, and its children, belong to the realm."""
    kit = find_kit()
    if isinstance(kit, str):
        yield kit
        return
    with pytest.MonkeyPatch.context() as patch, Kdc(kit, folder) as kdc:
        if kit.site:
            patch.syspath_prepend(str(kit.site))
            patch.setenv("PYTHONPATH", str(kit.site), prepend=":")
        patch.setenv("KRB5_CONFIG", str(kdc.krb5_conf))
        yield Realm(kdc, kdc.add(CLIENT), kdc.add(BROKER))
