"""What brokers and clients choose: names of hosts and groups, and what they say of errors."""

from __future__ import annotations

import json
import logging

from sparkmirror.cli.columns import Columns, plain_lines, widths_of
from sparkmirror.config.java_regex import compile_elements
from sparkmirror.control.log import JsonFormatter, TextFormatter
from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.address import check_place
from sparkmirror.shown import shown_json
from tests.fuzz.target import Target

_COLUMNS = Columns(heads=("GROUP", "WHY"), has_long=True)
_FORMATTERS = (TextFormatter(), JsonFormatter())
_FILTERS = [
    compile_elements(elements) for elements in ((".*-.*-.*x", "(a+)+b"), ("(?i)[a-z]+(x|xx)*z",), ("(?!__).*",))
]


def _check_host(data: bytes) -> None:
    """What passes can be asked for without another error than the system's own."""
    host = data.decode("utf-8", "surrogateescape")
    try:
        check_place(host, 9092)
    except ConnectionLostError as error:
        assert str(error).isprintable() and len(str(error)) < 2000
        raise
    host.encode("idna")


def _show_text(data: bytes) -> None:
    """No character of it can give a terminal a command or forge a line, whatever shows it."""
    text = data.decode("utf-8", "replace")
    record = logging.LogRecord("sparkmirror", logging.ERROR, __file__, 1, "%s", (text,), None)
    rows = [(text, text)]
    lines = [
        *(formatter.format(record) for formatter in _FORMATTERS),
        *plain_lines(_COLUMNS, rows, widths_of(_COLUMNS, rows)),
        shown_json([text]),
    ]
    assert all(line.isprintable() for line in lines)
    assert json.loads(lines[-1]) == [text]


def _match_name(data: bytes) -> None:
    name = (data * (1 + 4000 // (1 + len(data)))).decode("utf-8", "replace")
    for each in _FILTERS:
        assert each is not None
        each.fullmatch(name)


_TEXTS = [
    b"billing",
    b"\x1b]0;title\x07\x1b[2J\rok",
    "b\u00fccher \u202e \u2028 \u009b31m".encode(),
    b"Replication factor: 3 larger than available brokers: 1.",
]
TARGETS = [
    Target(
        "host",
        _check_host,
        [
            b"broker-1.example.org",
            b"127.0.0.1",
            b"::1",
            b"fe80::1%eth0",
            "b\u00fccher.example".encode(),
            b"kafka_0.kafka",
        ],
        (ConnectionLostError,),
    ),
    Target("shown_text", _show_text, _TEXTS, ()),
    Target("matched_name", _match_name, [*_TEXTS, b"-", b"a", b"a-x"], ()),
]
