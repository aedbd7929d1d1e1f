"""Java, Maven, the cache folder, ports and the probe, and what is said where one of them is missing."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import struct
from pathlib import Path

import pytest

from sparkmirror.embedded import maven
from sparkmirror.embedded.distribution import cache_root, prepare
from sparkmirror.embedded.guard import Guard
from sparkmirror.embedded.java import find_java, parse_major
from sparkmirror.embedded.logfile import LogFollower, read_tail
from sparkmirror.embedded.maven import check_jars, fetch_jars, parse_jar
from sparkmirror.embedded.ports import HOST, ReservedPort, reserve_port
from sparkmirror.embedded.probe import read_broker_ids
from sparkmirror.embedded.versions import VERSIONS
from sparkmirror.errors import SetupError


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with nothing installed; returns the only folder of its PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path


def fake_java(folder: Path, banner: str) -> None:
    java = folder / "java"
    java.write_text(f"#!/bin/sh\necho '{banner}' >&2\n")
    java.chmod(0o755)


def test_missing_java_says_what_to_install(bare: Path) -> None:
    with pytest.raises(SetupError) as caught:
        prepare()
    assert str(caught.value) == "Kafka needs Java 17 or newer and there is none on the PATH: install a JDK."


def test_java_home_without_java_is_named(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(bare))
    with pytest.raises(SetupError, match=f"none in JAVA_HOME={bare}"):
        find_java()


def test_old_java_is_refused(bare: Path) -> None:
    fake_java(bare, 'openjdk version "11.0.22" 2024-01-16')
    with pytest.raises(SetupError, match="is older: install a newer JDK"):
        find_java()


def test_java_of_the_path_is_found(bare: Path) -> None:
    fake_java(bare, 'openjdk version "21.0.2" 2024-01-16')
    assert find_java().major == 21


def test_java_versions_old_and_new() -> None:
    assert parse_major('java version "1.8.0_292"') == 8
    assert parse_major('openjdk version "17.0.15" 2025-04-15') == 17
    assert parse_major('openjdk version "22" 2024-03-19') == 22
    assert parse_major("no such thing") is None


def test_missing_maven_says_what_to_install(bare: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    guard = Guard(work, temporary=True)
    try:
        with pytest.raises(SetupError, match="none on the PATH: install Maven"):
            fetch_jars(bare / "pom.xml", "4.3.1", work / "jars", guard, work, lambda _: None)
    finally:
        guard.close()


def test_jars_that_are_not_the_pinned_ones_are_refused(tmp_path: Path) -> None:
    for name in ("a.jar", "b.jar"):
        (tmp_path / name).write_bytes(name.encode())
    pins = "".join(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in ("a.jar", "b.jar"))
    check_jars(tmp_path, pins)
    (tmp_path / "c.jar").touch()
    (tmp_path / "b.jar").write_bytes(b"other")
    with pytest.raises(SetupError, match=r"none was run: b\.jar, c\.jar"):
        check_jars(tmp_path, pins)
    with pytest.raises(SetupError, match=r"a\.jar"):
        check_jars(tmp_path / "nothing", pins)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_s_jars_are_pinned(version: str) -> None:
    pins = Path(maven.__file__).with_name(f"jars-{version}.sha256").read_text().splitlines()
    assert all(re.fullmatch(r"[0-9a-f]{64}  [\w.-]+\.jar", line) for line in pins)
    assert any(line.endswith(f"-{version}.jar") and "  kafka" in line for line in pins)


def test_unknown_kafka_version_is_refused() -> None:
    with pytest.raises(
        SetupError, match=r"Kafka 0\.7 can't be embedded: choose one of 4\.3\.1, 3\.9\.2, 3\.2\.0, 2\.4\.1"
    ):
        prepare("0.7")


def test_maven_lines_name_jars() -> None:
    line = "[INFO] Downloaded from central: scheme://host/a/b/x-1.2.jar (25 kB at 348 kB/s)"
    assert parse_jar(line) == "x-1.2.jar"
    assert parse_jar(line.replace(".jar", ".pom")) is None


def test_cache_folder_by_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/a")
    monkeypatch.delenv("SPARKMIRROR_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_root() == Path("/home/a/.cache/sparkmirror")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_root() == Path("/xdg/sparkmirror")
    monkeypatch.setenv("SPARKMIRROR_CACHE", "/chosen")
    assert cache_root() == Path("/chosen")


def test_reserved_port_can_be_listened_on_but_not_reserved_again() -> None:
    port = reserve_port()
    try:
        with pytest.raises(OSError, match="in use"):
            ReservedPort(port.number)
        with socket.socket() as server:  # as a JVM does it
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind((HOST, port.number))
            server.listen()
            socket.create_connection((HOST, port.number), 5).close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((HOST, port.number), 5)
    finally:
        port.release()


def test_metadata_response_is_read() -> None:
    def entry(node: int, rack: bytes | None) -> bytes:
        tail = struct.pack(">h", -1) if rack is None else struct.pack(">h", len(rack)) + rack
        return struct.pack(">ih", node, 4) + b"host" + struct.pack(">i", 9092) + tail

    response = struct.pack(">ii", 1, 2) + entry(1, None) + entry(7, b"rack") + struct.pack(">ii", 1, 0)
    assert read_broker_ids(response) == {1, 7}


def test_follower_gives_whole_new_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("old\n")
    follower = LogFollower(log)
    with log.open("a") as file:
        file.write("one\ntw")
        file.flush()
        assert follower.read_lines() == ["one"]
        file.write("o\n")
    assert follower.read_lines() == ["two"]


def test_tail_shows_the_first_log_with_content(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.touch()
    second.write_text(os.linesep.join(str(n) for n in range(100)))
    assert read_tail(first, second, lines=2) == f"The end of {second}:\n98\n99"
    assert read_tail(first) == "It wrote no log."
