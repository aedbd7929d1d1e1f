"""What people write instead of MirrorMaker 2's own keys and values, read as they meant it, each with a warning.

topics.blacklist                     topics.exclude           gone since Kafka 4.0
sync.group.offsets.interval.ms       ... .interval.seconds    a thousandth
offset.syncs.topic.retention.ms      offset-syncs. ...        KIP-382 spells it so
Replication.factor                   replication.factor       Java's keys are in lower case
"a, b"                               a, b                     a properties file has no quotes
*.internal                           .*\\.internal             a glob, where it is no regular expression

One that is a regular expression, too, stays what it is in MirrorMaker 2, with a warning: `logs-*` is `logs` and dashes.
So does a name that no topic and no group can have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from sparkmirror.config import values as v
from sparkmirror.config.dialects import as_regex
from sparkmirror.config.findings import Findings
from sparkmirror.config.java_regex import compile_elements
from sparkmirror.config.keys import PLACES, Key
from sparkmirror.config.properties import Entry
from sparkmirror.config.secrecy import is_filled, is_secret
from sparkmirror.config.settings import Place, Places

_RENAMED = {
    "topics.blacklist": "topics.exclude",
    "groups.blacklist": "groups.exclude",
    "config.properties.blacklist": "config.properties.exclude",
}
_MS, _SECONDS = ".interval.ms", ".interval.seconds"
_GLOB = re.compile(r"[a-zA-Z0-9._*-]+")
# A star that repeats a plain character.
_LONE_STAR = re.compile(r"([a-zA-Z0-9_-])\*")
# Nothing of a regular expression, but something that no topic has in its name.
_NO_NAME = re.compile(r"(?=.*[^a-zA-Z0-9._-])[^\\\[\](){}|*+?^$]+")
_QUOTED = re.compile(r"""\s*(["'])(.*)\1\s*""", re.DOTALL)


def respell(entries: Mapping[str, Entry], aliases: tuple[str, ...], findings: Findings) -> dict[str, Entry]:
    """Keys and values as MirrorMaker 2 wants them. A key that is there in its own spelling wins over another's."""
    places = Places.of(aliases)
    found: dict[str, Entry] = {}
    for entry in entries.values():
        place = places.find(entry.key)
        spelled = entry if place.key else _respell_key(entry, place)
        if spelled is not entry and spelled.key in entries:
            hiding = entries[spelled.key]
            findings.warn(entry.line, f"{entry.key} changes nothing: {hiding.key} at line {hiding.line} wins over it")
            continue
        if spelled is not entry:
            findings.warn(entry.line, f"{entry.written_key}: read as {spelled.key}")
        key = places.find(spelled.key).key
        found[spelled.key] = _tidy(spelled, key, findings) if key else spelled
    return found


def respell_clusters(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """`Clusters` is looked for before anything else, since every other key depends on it."""
    if "clusters" in entries:
        return dict(entries)
    return {"clusters" if key.lower() == "clusters" else key: entry for key, entry in entries.items()}


def _respell_key(entry: Entry, place: Place) -> Entry:
    name = place.name.lower().replace("offset.syncs.", "offset-syncs.")
    name = _RENAMED.get(name, name)
    value = entry.value
    if name.endswith(_MS) and (place.scope, name.removesuffix(_MS) + _SECONDS) in PLACES:
        name, value = name.removesuffix(_MS) + _SECONDS, _thousandth(value)
    if (place.scope, name) not in PLACES:
        return entry
    return Entry(entry.key.removesuffix(place.name) + name, value, entry.line, (entry,))


def _thousandth(value: str) -> str:
    """A value that is no number stays, for the parser to refuse."""
    number = _unquoted(value).strip()
    return f"{int(number) / 1000:g}" if re.fullmatch(r"-?[0-9]{1,18}", number) else value


def _tidy(entry: Entry, key: Key[object], findings: Findings) -> Entry:
    value = entry.value if is_secret(key.name) else _unquoted(entry.value)
    if value != entry.value:
        shown = "" if is_filled(entry) else f": {value}"
        findings.warn(entry.line, f"{entry.written_key}: the quotes are left out{shown}")
    elements = v.text_list(value) if key.parse is v.regex_list else ()
    regexes = tuple(_globs_as_regexes(elements, entry, findings))
    if regexes != elements:
        value = ",".join(regexes)
    return entry if value == entry.value else Entry(entry.key, value, entry.line, (entry,))


def _unquoted(value: str) -> str:
    elements = value.split(",")
    if all(_QUOTED.fullmatch(element) for element in elements):
        return ",".join(_QUOTED.sub(r"\2", element) for element in elements)
    whole = _QUOTED.fullmatch(value)
    return whole.group(2) if whole else value


def _globs_as_regexes(elements: Iterable[str], entry: Entry, findings: Findings) -> Iterable[str]:
    for element in elements:
        if element.startswith("*") and _GLOB.fullmatch(element) and not _is_regex(element):
            findings.warn(
                entry.line, f"{entry.written_key}: {element} is no regular expression, read as {as_regex(element)}"
            )
            yield as_regex(element)
        else:
            if not is_filled(entry) and (said := _doubt(element, of_topics="topics" in entry.key)):
                findings.warn(entry.line, f"{entry.written_key}: {element} {said}")
            yield element


def _doubt(element: str, *, of_topics: bool) -> str:
    """Why it probably matches other names than was meant; empty if it does not."""
    if _GLOB.fullmatch(element) and (star := _LONE_STAR.search(element)):
        meant = _LONE_STAR.sub(r"\1.*", element)
        return (
            f"is read as a regular expression, as in MirrorMaker 2, in which {star.group()} stands for any number of "
            f"{star.group(1)!r}: did you mean {meant}?"
        )
    if of_topics and _NO_NAME.fullmatch(element):
        return "can't be a topic's name: expected names of letters, digits, '.', '_' and '-' with commas between them"
    return ""


def _is_regex(element: str) -> bool:
    try:
        return compile_elements((element,)) is not None
    except ValueError:
        return False
