"""A real Kerberos realm on loopback, from Debian's packages, without root's rights.

The programs are those of the system, or are unpacked into the cache from packages that `apt-get download` brings. The
Python package `gssapi` is the installed one, or is built there against the unpacked headers. Where neither can be had,
`find_kit` says why.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparkmirror.embedded.distribution import cache_root
from sparkmirror.embedded.ports import reserve_port

REALM = "EXAMPLE.TEST"
PACKAGES = (
    "krb5-kdc krb5-admin-server krb5-user libkrb5-dev krb5-multidev comerr-dev libkadm5srv-mit12 libkadm5clnt-mit12 "
    "libkdb5-10 libgssrpc4 libverto1 libverto-libev1 libev4 libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 "
    "libkeyutils1 libfaketime"
)
_DEADLINE_S = 300


@dataclass(frozen=True)
class Kit:
    """`root`: where the programs are unpacked, empty for the system's own; `site`: where Python finds gssapi."""

    root: Path
    site: Path | None

    @property
    def libraries(self) -> Path:
        return self.root / "usr/lib" / f"{os.uname().machine}-linux-gnu"

    def program(self, name: str) -> str:
        return str(self.root / "usr/sbin" / name)

    def variables(self) -> dict[str, str]:
        return {**os.environ, "LD_LIBRARY_PATH": str(self.libraries)}


@functools.cache
def find_kit() -> Kit | str:
    """Or why there is none."""
    folder = cache_root() / "kerberos"
    root, site = folder / "root", folder / "site"
    try:
        if not (root / "usr/sbin/krb5kdc").exists():
            _unpack(folder, root)
        if importlib.util.find_spec("gssapi"):
            return Kit(root, None)
        if not (site / "gssapi").exists():
            _build_gssapi(Kit(root, None), site)
        return Kit(root, site)
    except (OSError, subprocess.SubprocessError) as error:
        return f"no Kerberos here: {error}"


def _unpack(folder: Path, root: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        _run(["apt-get", "download", *PACKAGES.split()], cwd=work)
        for package in sorted(Path(work).glob("*.deb")):
            _run(["dpkg", "-x", str(package), str(Path(work, "root"))])
        Path(work, "root").rename(root)


def _build_gssapi(kit: Kit, site: Path) -> None:
    libraries, headers = kit.libraries, kit.root / "usr/include"
    variables = os.environ | {
        "PATH": f"{kit.root / 'usr/bin'}:{os.environ['PATH']}",
        "GSSAPI_COMPILER_ARGS": f"-DHAS_GSSAPI_EXT_H -I{headers} -I{headers / 'mit-krb5'}",
        "GSSAPI_LINKER_ARGS": f"-L{libraries} -L{libraries / 'mit-krb5'} -lgssapi_krb5 -lkrb5 -lk5crypto -lcom_err",
        "GSSAPI_MAIN_LIB": str(libraries / "libgssapi_krb5.so.2"),
    }
    with tempfile.TemporaryDirectory(dir=site.parent) as work:
        _run([sys.executable, "-m", "pip", "install", "-q", "--target", work, "gssapi"], env=variables)
        shutil.copytree(work, site)


def _run(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=env, cwd=cwd, check=True, capture_output=True, text=True, timeout=_DEADLINE_S)


class Kdc:
    """`ahead_s`: its clock is so much ahead of everybody's. `twin_of`: it knows whom that one knows."""

    def __init__(self, kit: Kit, folder: Path, *, twin_of: Kdc | None = None, ahead_s: int = 0) -> None:
        self._kit, self._folder = kit, folder
        self._port = reserve_port()
        self.krb5_conf = folder / "krb5.conf"
        self._ahead_s = ahead_s
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self.krb5_conf.write_text(_KRB5_CONF.format(realm=REALM, port=self._port.number))
        self._data: Path = twin_of._data if twin_of else folder
        places = {"folder": folder, "data": self._data, "libraries": kit.libraries}
        profile = {"realm": REALM, "port": self._port.number, **places}
        (folder / "kdc.conf").write_text(_KDC_CONF.format(**profile))
        (folder / "krb5kdc.log").touch()
        if twin_of is None:
            self._admin("kdb5_util", "create", "-s", "-W", "-P", "of-no-interest")

    def __enter__(self) -> Kdc:
        self._port.release()
        with (self._folder / "kdc.log").open("wb") as log:
            command = [self._kit.program("krb5kdc"), "-n"]
            self._process = subprocess.Popen(command, env=self._variables(is_kdc=True), stdout=log, stderr=log)
        until = time.monotonic() + 30
        while b"commencing operation" not in (self._folder / "krb5kdc.log").read_bytes():
            assert time.monotonic() < until and self._process.poll() is None, (self._folder / "kdc.log").read_text()
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(10)

    def add(self, principal: str, life_s: int = 3600) -> Path:
        """Its keytab. Its tickets last so long."""
        keytab = self._folder / f"{principal.replace('/', '-')}.keytab"
        self._admin("kadmin.local", "-q", f"addprinc -randkey -maxlife {life_s}s {principal}")
        self._admin("kadmin.local", "-q", f"ktadd -k {keytab} {principal}")
        return keytab

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """It takes connections and does not answer."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def _admin(self, program: str, *arguments: str) -> None:
        _run([self._kit.program(program), *arguments], env=self._variables())

    def _variables(self, *, is_kdc: bool = False) -> dict[str, str]:
        found = self._kit.variables() | {
            "KRB5_CONFIG": str(self.krb5_conf),
            "KRB5_KDC_PROFILE": str(self._folder / "kdc.conf"),
        }
        if is_kdc and self._ahead_s:
            library = self._kit.libraries / "faketime" / "libfaketime.so.1"
            found |= {"LD_PRELOAD": str(library), "FAKETIME": f"+{self._ahead_s}s"}
        return found


_KRB5_CONF = """[libdefaults]
 default_realm = {realm}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
[realms]
 {realm} = {{
  kdc = 127.0.0.1:{port}
 }}
[domain_realm]
 localhost = {realm}
"""
_KDC_CONF = """[kdcdefaults]
 kdc_listen = 127.0.0.1:{port}
 kdc_tcp_listen = 127.0.0.1:{port}
[realms]
 {realm} = {{
  database_name = {data}/principal
  key_stash_file = {data}/stash
  acl_file = {folder}/acl
  max_life = 1h
 }}
[dbmodules]
 db_module_dir = {libraries}/krb5/plugins/kdb
[logging]
 kdc = FILE:{folder}/krb5kdc.log
"""
