r"""Java's .properties syntax, as `java.util.Properties.load` reads it.

A *natural line* ends at \n, \r or \r\n. A *logical line* is one or more natural lines joined by a
backslash before the line end; the white space that begins a continuation is dropped. Comments (`#`, `!`)
and blank lines never continue.

    key   ends at the first unescaped `=`, `:` or white space
    value begins after white space, at most one `=` or `:`, and white space again; its trailing blanks stay
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sparkmirror.config.findings import Findings

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_PEM_BEGIN, _PEM_END = "-----BEGIN", "-----END"
_NO_KEY = re.compile(r"[A-Za-z0-9+/]{40,}")  # a line of base64
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Entry:
    """One key with its value and the line where it begins, counted from 1.

    `origins` are the entries of the file that it was made from, where it does not stand there as it is: another
    spelling, a dialect, a placeholder that was filled in.
    """

    key: str
    value: str = field(repr=False)  # may be a password
    line: int
    origins: tuple[Entry, ...] = ()

    @property
    def written(self) -> tuple[Entry, ...]:
        """As the file has it."""
        return tuple(entry for origin in self.origins for entry in origin.written) or (self,)

    @property
    def written_key(self) -> str:
        return self.written[0].key


def shown_key(key: str) -> str:
    """A key that is none may be a line of a private key, or a password that lost its own."""
    return "a line that is no setting" if _NO_KEY.search(key) else key


def line_of(entry: Entry | None) -> int | None:
    return None if entry is None else entry.line


def decode_properties(content: bytes) -> str:
    """UTF-8, as people write these files today; else Latin-1, which is what Java itself reads.

    An editor's byte order mark is dropped: it would become part of the first key.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def parse_properties(text: str, name: str) -> list[Entry]:
    """All entries in file order, repeated keys included; ConfigError for a malformed \\u escape."""
    findings = Findings(name)
    entries = read_properties(text, findings)
    findings.raise_if_any()
    return entries


def read_properties(text: str, findings: Findings) -> list[Entry]:
    """The same, with what is wrong among the findings."""
    entries: list[Entry] = []
    in_pem = False
    for line, logical in _logical_lines(text):
        if in_pem:  # each of its lines would be taken for a key, and said to be unknown
            in_pem = _PEM_END not in logical
            continue
        key_end = _matched_end(_KEY, logical, 0)
        value_start = _matched_end(_SEPARATOR, logical, key_end)
        if _PEM_BEGIN in logical and _PEM_END not in logical:
            in_pem = True
            key = "" if logical.startswith(_PEM_BEGIN) else f"{logical[:key_end]}: "
            findings.error(line, f"{key}a PEM text over several lines: expected \\n\\ at the end of each but the last")
            continue
        try:
            entries.append(Entry(_unescape(logical[:key_end]), _unescape(logical[value_start:]), line))
        except ValueError as error:
            findings.error(line, f"{logical[:key_end]}: {error}")  # never the value, which may be a password
    return entries


def latest_entries(entries: Iterable[Entry], findings: Findings) -> dict[str, Entry]:
    """The entry that counts for each key (the last one, as in Java), and a warning for each one it hides."""
    latest: dict[str, Entry] = {}
    for entry in entries:
        hidden = latest.get(entry.key)
        if hidden is not None:
            said = f"is set again: this value wins over the one at line {hidden.line}"
            findings.warn(entry.line, f"{shown_key(entry.key)} {said}")
        latest[entry.key] = entry
    return latest


def comment_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that hold nothing but a comment, with their numbers."""
    for number, raw in enumerate(_LINE_END.split(text), start=1):
        natural = raw.lstrip(_BLANKS)
        if natural and natural[0] in "#!":
            yield number, natural


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    logical, first, continues = "", 0, False
    for number, raw in enumerate(_LINE_END.split(text), start=1):
        natural = raw.lstrip(_BLANKS)
        if not logical and (not natural or natural[0] in "#!"):
            continues = False
            continue
        first = first if continues else number
        # An even number of backslashes at the end are escaped backslashes, not a continuation.
        continues = (len(natural) - len(natural.rstrip("\\"))) % 2 == 1
        logical += natural[:-1] if continues else natural
        if not continues:
            yield first, logical
            logical = ""
    # A backslash that ends the file is dropped. (Alone on its line Java makes it an empty key.)
    if logical:
        yield first, logical


def _matched_end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return start if found is None else found.end()


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_unescape_one, text)
    if _SURROGATE.search(plain) is None:
        return plain
    # Java writes a character beyond U+FFFF as two escapes; Python keeps it as one character.
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _unescape_one(found: re.Match[str]) -> str:
    escaped = found.group(1)
    if len(escaped) > 1:
        return chr(int(escaped[1:], 16))
    if escaped == "u":
        raise ValueError("malformed escape \\u: expected four hexadecimal digits after it")
    return _CONTROL.get(escaped, escaped)
