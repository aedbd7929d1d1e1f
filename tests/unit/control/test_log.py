"""One line an event, also where an error is told with where it came from."""

from __future__ import annotations

import json
import logging
import sys

from sparkmirror.control.log import JsonFormatter, TextFormatter


def record_of_an_error() -> logging.LogRecord:
    try:
        raise TypeError("nobody\nthought of this")
    except TypeError:
        return logging.LogRecord("sparkmirror", logging.ERROR, __file__, 1, "it %s", ("failed",), sys.exc_info())


def test_a_traceback_stands_in_the_line_of_its_event() -> None:
    line = TextFormatter().format(record_of_an_error())
    assert "\n" not in line
    assert "ERROR it failed | Traceback" in line and line.endswith("| TypeError: nobody | thought of this")


def test_a_traceback_is_a_field_of_its_event() -> None:
    line = JsonFormatter().format(record_of_an_error())
    assert "\n" not in line
    found = json.loads(line)
    assert found["message"] == "it failed" and found["traceback"].startswith("Traceback")
