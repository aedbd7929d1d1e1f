"""java.util.Properties' syntax, case by case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.config.findings import Findings
from sparkmirror.config.properties import Entry, decode_properties, latest_entries, parse_properties
from sparkmirror.errors import ConfigError


def pairs(text: str) -> list[tuple[str, str]]:
    return [(entry.key, entry.value) for entry in parse_properties(text, "f")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", [("a", "b")]),
        ("a:b", [("a", "b")]),
        ("a b", [("a", "b")]),
        ("a\tb", [("a", "b")]),
        ("a\fb", [("a", "b")]),
        ("a = b", [("a", "b")]),
        ("a  :  b", [("a", "b")]),
        ("a = = b", [("a", "= b")]),
        ("a b = c", [("a", "b = c")]),
        ("a", [("a", "")]),
        ("a=", [("a", "")]),
        ("=b", [("", "b")]),
        ("  \t a=b", [("a", "b")]),
        ("a=b  ", [("a", "b  ")]),
        ("x->y.enabled = true", [("x->y.enabled", "true")]),
        ("# a=b\n! c=d\n  #e=f\ng=h", [("g", "h")]),
        ("a=#b", [("a", "#b")]),
        ("a=1\r\nb=2\rc=3\n", [("a", "1"), ("b", "2"), ("c", "3")]),
        ("\n\n \t\na=b\n\n", [("a", "b")]),
    ],
)
def test_separators_comments_and_line_ends(text: str, expected: list[tuple[str, str]]) -> None:
    assert pairs(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b,\\\n   c", [("a", "b,c")]),
        ("a=b,\\\r\n   c", [("a", "b,c")]),
        ("a=b\\\\\nc=d", [("a", "b\\"), ("c", "d")]),
        ("a=b\\\\\\\nc", [("a", "b\\c")]),
        ("a\\\n  b=c", [("ab", "c")]),
        ("a=b\\\n#c", [("a", "b#c")]),
        ("a=b\\\n\nc=d", [("a", "b"), ("c", "d")]),
        ("a=b\\", [("a", "b")]),
        ("a=b\n\\", [("a", "b")]),
        ("# comment\\\na=b", [("a", "b")]),
        ("\\\na=b", [("a", "b")]),
    ],
)
def test_continuations(text: str, expected: list[tuple[str, str]]) -> None:
    assert pairs(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"a\ b=c", [("a b", "c")]),
        (r"a\=b\:c=d", [("a=b:c", "d")]),
        (r"\#a=b", [("#a", "b")]),
        (r"a=\t\n\r\f\\\z\"", [("a", '\t\n\r\f\\z"')]),
        (r"a=\u0041\u00e9", [("a", "Aé")]),
        (r"a=\ud83d\ude00", [("a", "😀")]),
        (r"topics=foo\\..*", [("topics", r"foo\..*")]),
        (r"topics=foo\..*", [("topics", "foo..*")]),
    ],
)
def test_escapes(text: str, expected: list[tuple[str, str]]) -> None:
    assert pairs(text) == expected


def test_bad_unicode_escapes_are_all_named_with_their_lines() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_properties("a=b\nc=\\u12\n\nd=\\uXYZW", "mm2.properties")
    first, second = str(caught.value).splitlines()
    assert first.startswith("mm2.properties:2: c: malformed escape") and "u12" not in first
    assert second.startswith("mm2.properties:4: ") and "four hexadecimal digits" in second


def test_an_entry_knows_the_line_where_it_begins() -> None:
    text = "# one\n\na=b,\\\n  c\r\nd=e"
    assert parse_properties(text, "f") == [Entry("a", "b,c", 3), Entry("d", "e", 5)]


def test_the_later_duplicate_wins_and_the_warning_names_both_lines() -> None:
    findings = Findings("f")
    latest = latest_entries(parse_properties("a=1\nb=2\na=3", "f"), findings)
    assert latest["a"].value == "3"
    (warning,) = findings.warnings
    assert warning.startswith("f:3: a ") and "line 1" in warning


def test_bytes_are_utf8_else_latin1_and_a_byte_order_mark_is_no_key() -> None:
    assert decode_properties("a=é".encode()) == "a=é"
    assert decode_properties("a=é".encode("latin-1")) == "a=é"
    assert decode_properties("a=b".encode("utf-8-sig")) == "a=b"


def escape(text: str, *, key: bool) -> str:
    """As java.util.Properties.store writes: every special character escaped, non-ASCII as \\u."""
    out = []
    for at, char in enumerate(text):
        if char in "\t\n\r\f":
            out.append("\\" + {"\t": "t", "\n": "n", "\r": "r", "\f": "f"}[char])
        elif char in "\\=:#!" or (char == " " and (key or at == 0)):
            out.append("\\" + char)
        elif " " <= char <= "~":
            out.append(char)
        else:
            units = char.encode("utf-16-be")
            out += [f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)]
    return "".join(out)


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(
    entries=st.lists(st.tuples(words, words), max_size=6),
    separator=st.sampled_from(["=", ":", " = ", "\t:\t"]),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_what_java_stores_is_read_back(entries: list[tuple[str, str]], separator: str, line_end: str) -> None:
    text = line_end.join(escape(k, key=True) + separator + escape(v, key=False) for k, v in entries)
    assert pairs(text) == entries


@given(st.text())
def test_any_text_parses_or_is_refused_as_configuration(text: str) -> None:
    try:
        parse_properties(text, "f")
    except ConfigError as error:
        assert str(error).startswith("f:")
