"""A flow's state as a file: what its internal topics hold, so that they can be restored. Pure, but for files.

    gzip of lines, a JSON value each
    first    {"sparkmirror":"state","version":1,"flow":"A->B","made_ms":1700000000000,"source_cluster":"Mk…",
              "target_cluster":"x7…","generation":12}
    then     ["claims",KEY,VALUE] ["progress",KEY,VALUE]           as text: JSON of their own
             ["offset-map",KEY,VALUE] ["checkpoints",KEY,VALUE]    in base64
    last     {"records":1234,"sha256":"9f…"}                       of all lines before

Keys and values are those of the topics' records, to the byte; progress and offset map name the ids of both topics that
they are about. `generation` is the highest of a leader. Who leads, and facts, are not state: the next run finds them.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from sparkmirror.errors import ConfigError
from sparkmirror.offsets.internal_topic import UNREADABLE
from sparkmirror.whole_file import replacing

VERSION = 1
CLAIMS, PROGRESS, OFFSET_MAP, CHECKPOINTS = "claims", "progress", "offset-map", "checkpoints"
SECTIONS = (CLAIMS, PROGRESS, OFFSET_MAP, CHECKPOINTS)
_TEXT = (CLAIMS, PROGRESS)
_MARK = "state"

Records = Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateHead:
    """What a state is of. Cluster ids are the brokers' own."""

    flow: str
    made_ms: int
    source_cluster: str
    target_cluster: str
    generation: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowState:
    """`sections`: records by key, in the order in which they were written."""

    head: StateHead
    sections: Mapping[str, Records] = field(default_factory=dict)

    def records(self, section: str) -> Records:
        return self.sections.get(section, {})


def encode_state(state: FlowState) -> Iterator[bytes]:
    digest, count = hashlib.sha256(), 0
    for line in _encode_lines(state):
        digest.update(line)
        count += 1
        yield line
    yield _dump({"records": count - 1, "sha256": digest.hexdigest()})


def _encode_lines(state: FlowState) -> Iterator[bytes]:
    yield _dump({"sparkmirror": _MARK, "version": VERSION} | asdict(state.head))
    for section in SECTIONS:
        for key, value in state.records(section).items():
            yield _dump([section, _encode(section, key), _encode(section, value)])


def parse_state(lines: Iterable[bytes], name: str) -> FlowState:
    """ConfigError: it is not whole, or not ours. `name`: of the file, for that."""
    digest, last = hashlib.sha256(), b""
    head: StateHead | None = None
    sections: dict[str, dict[bytes, bytes]] = {section: {} for section in SECTIONS}
    count = 0
    for line in lines:
        if last:
            if head is None:
                head = _parse_head(last, name)
            else:
                _take_record(last, sections, name)
                count += 1
            digest.update(last)
        last = line
    if head is None or _parse(last) != {"records": count, "sha256": digest.hexdigest()}:
        raise ConfigError(
            f"{name}: the file is cut or damaged: its last line does not match the others; export it again"
        )
    return FlowState(head=head, sections=sections)


def _parse_head(line: bytes, name: str) -> StateHead:
    found = _parse(line)
    if not isinstance(found, dict) or found.get("sparkmirror") != _MARK:
        raise ConfigError(f"{name}: this is no state of a flow: expected a file of `sparkmirror state export`")
    version = found.get("version")
    if version != VERSION:
        raise ConfigError(
            f"{name}: state of version {version}, which this sparkmirror does not know: expected {VERSION}"
        )
    try:
        known = {f.name: (int if f.type == "int" else str)(found[f.name]) for f in fields(StateHead)}
    except UNREADABLE as error:
        raise ConfigError(f"{name}: the file's first line is damaged ({error}); export it again") from None
    return StateHead(**known)  # type: ignore[arg-type]


def _take_record(line: bytes, sections: dict[str, dict[bytes, bytes]], name: str) -> None:
    try:
        section, key, value = _parse(line)
        sections[section][_decode(section, key)] = _decode(section, value)
    except UNREADABLE:
        raise ConfigError(f"{name}: the file is damaged: a line is no record of a state; export it again") from None


def write_state_file(path: Path, state: FlowState) -> None:
    """Whole or not at all: a file that was there stays until the new one is. ConfigError: it can't be written."""
    try:
        with replacing(path, lasts=True) as raw, gzip.GzipFile(fileobj=raw, mode="wb", filename="") as packed:
            packed.writelines(encode_state(state))
    except OSError as error:
        raise ConfigError(f"{path}: can't write the file: {error.strerror}") from error


def read_state_file(path: Path) -> FlowState:
    """ConfigError: it can't be read, is not whole, or not ours."""
    try:
        with gzip.open(path, "rb") as lines:
            return parse_state(lines, str(path))
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise ConfigError(f"{path}: the file is cut or damaged, or no state of a flow") from None
    except OSError as error:
        raise ConfigError(f"{path}: can't read the file: {error.strerror}") from error


def _encode(section: str, data: bytes) -> str:
    return data.decode() if section in _TEXT else base64.b64encode(data).decode()


def _decode(section: str, text: str) -> bytes:
    return text.encode() if section in _TEXT else base64.b64decode(text, validate=True)


def _dump(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _parse(line: bytes) -> Any:
    """What is not JSON counts as nothing."""
    try:
        return json.loads(line)
    except UNREADABLE:
        return None
