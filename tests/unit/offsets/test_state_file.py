"""A state's file comes back as it was, and one that is cut, changed or another's is refused in plain words."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from sparkmirror.errors import ConfigError
from sparkmirror.offsets.state_file import (
    CHECKPOINTS,
    CLAIMS,
    OFFSET_MAP,
    PROGRESS,
    FlowState,
    StateHead,
    encode_state,
    parse_state,
    read_state_file,
    write_state_file,
)

HEAD = StateHead(flow="A->B", made_ms=1_700_000_000_000, source_cluster="Mk", target_cluster="x7", generation=12)
STATE = FlowState(
    head=HEAD,
    sections={
        CLAIMS: {b'{"claim":"8c"}': b'{"producer_id":4000}', b'{"made":"A.gr\xc3\xb6\xc3\x9fe"}': b'{"topic_id":"5d"}'},
        PROGRESS: {b'["MirrorSourceConnector",{"cluster":"A"}]': b'{"offset":41}'},
        OFFSET_MAP: {b"\x00\xff": b"\x80\n\r"},
        CHECKPOINTS: {b"\x00\x01": b"\xfe"},
    },
)


def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "state"
    for state in (STATE, FlowState(head=HEAD)):
        write_state_file(path, state)
        found = read_state_file(path)
        assert found.head == state.head
        assert all(found.records(section) == state.records(section) for section in (CLAIMS, PROGRESS, OFFSET_MAP))
        assert list(found.records(CLAIMS)) == list(state.records(CLAIMS)), "the first claim holds"
    assert [file.name for file in tmp_path.iterdir()] == ["state"]
    assert gzip.decompress(path.read_bytes()).decode().startswith('{"sparkmirror":"state","version":1,"flow":"A->B"')


def test_every_cut_is_noticed(tmp_path: Path) -> None:
    lines = list(encode_state(STATE))
    for count in range(len(lines)):
        with pytest.raises(ConfigError, match="file is cut or damaged"):
            parse_state(lines[:count], "f")
        if 0 < count < len(lines) - 1:
            with pytest.raises(ConfigError, match="f: the file is"):
                parse_state(lines[:count] + lines[count + 1 :], "f")
    path = tmp_path / "state"
    write_state_file(path, STATE)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(ConfigError, match="the file is cut or damaged"):
            read_state_file(path)


def test_a_changed_value_is_noticed() -> None:
    lines = [line.replace(b"4000", b"4001") for line in encode_state(STATE)]
    with pytest.raises(ConfigError, match="its last line does not match"):
        parse_state(lines, "f")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"hello\n", "no state of a flow"),
        (b'{"sparkmirror":"fact"}\n', "no state of a flow"),
        (json.dumps({"sparkmirror": "state", "version": 2}).encode(), "state of version 2.*expected 1"),
        (json.dumps({"sparkmirror": "state", "version": 1, "flow": "A->B"}).encode(), "first line is damaged"),
    ],
)
def test_what_is_not_ours_is_named(line: bytes, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_state([line, *list(encode_state(STATE))[1:]], "f")


@pytest.mark.parametrize("record", [b'["facts","a","b"]\n', b'["offset-map","a b","c"]\n', b'["claims"]\n', b"[[[\n"])
def test_a_line_that_is_no_record_is_refused(record: bytes) -> None:
    first, *_, last = encode_state(STATE)
    with pytest.raises(ConfigError, match="a line is no record"):
        parse_state([first, record, last], "f")


def test_files_that_can_not_be_read_or_written_are_errors_of_use(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't read the file"):
        read_state_file(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="can't write the file"):
        write_state_file(tmp_path / "nowhere" / "state", STATE)
    (tmp_path / "text").write_text("clusters = A, B\n")
    with pytest.raises(ConfigError, match="no state of a flow"):
        read_state_file(tmp_path / "text")
