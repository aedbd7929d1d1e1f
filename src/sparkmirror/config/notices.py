"""What a file says that does not do what its author wanted, and what would."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from itertools import permutations

from sparkmirror.config.findings import Findings
from sparkmirror.config.keys import KNOWN_KEYS, PLACES, Key, Scope, State, client_key
from sparkmirror.config.keys.topics import TOPICS
from sparkmirror.config.properties import Entry, shown_key
from sparkmirror.config.secrecy import is_filled
from sparkmirror.config.settings import Place, Settings, flow_name

# High enough to leave other programs' keys alone, low enough to find a slip of the pen.
_LIKENESS = 0.88
_LIKENESS_OF_FLOWS = 0.6
# The longest first.
_NAMES_OF_FLOWS = sorted((name for scope, name in PLACES if scope is Scope.FLOW), key=len, reverse=True)


def refuse_wrong_values(settings: Settings, findings: Findings) -> None:
    """Every line is checked where it stands, whether or not a flow reads it."""
    for place, entry in settings.places():
        if place.key is None:
            continue
        try:
            place.key.parse(entry.value)
        except ValueError as error:
            said = "what its placeholder stands for is no value of this key" if is_filled(entry) else str(error)
            findings.error(entry.line, f"{entry.written_key}: {said}")


def judge_unknown_flows(settings: Settings, findings: Findings) -> None:
    """Of each flow that is none one finding: an error if it was switched on, since it can't run."""
    known = ", ".join(settings.aliases)
    strays: dict[str, list[tuple[str, Entry]]] = {}
    for place, entry in settings.places():
        if place.scope is Scope.STRAY:
            pair, name = _split_stray(entry.key)
            strays.setdefault(pair, []).append((name, entry))
    for pair, lines in strays.items():
        switched_on = (line for line in lines if line[0] == "enabled" and line[1].value.strip().lower() != "false")
        on = next(switched_on, None)
        name, entry = on or lines[0]
        others = sorted(other.line for _, other in lines if other is not entry)
        also = f" (lines {', '.join(map(str, others))} speak of it, too)" if others else ""
        meant = _meant_flow(settings, pair)
        if on:
            said = f"{pair} is no flow between two of the clusters {known}; expected {meant or 'A->B'}.enabled"
            findings.error(entry.line, f"{entry.key}: {said} with two different aliases of these{also}")
        else:
            advice = f": did you mean {meant}.{name}?" if meant and name else ""
            said = f"{entry.key} belongs to no flow between two of the clusters, and changes nothing{also}{advice}"
            findings.warn(entry.line, said)


def idle_keys(settings: Settings) -> dict[str, str]:
    """Keys of the file, as written, that change nothing, sorted; why each does not."""
    idle = [(entry, why) for place, entry in settings.places() if (why := _why_idle(place))]
    whys = {written.key: why for entry, why in idle for written in entry.written}
    return dict(sorted(whys.items()))


def _why_idle(place: Place) -> str:
    """Empty for what acts."""
    if place.scope is Scope.SPARK or place.name.startswith("config.providers."):
        return ""
    if place.key is not None:
        return "it is not in force yet" if place.key.state is State.LATER else ""
    if place.is_of_family:
        return "nothing here reads keys of its family"
    return "neither MirrorMaker 2 nor sparkmirror has such a key"


def warn_of_idle(settings: Settings, findings: Findings) -> None:
    """Each key that changes nothing, unless its line was spoken of."""
    spoken_of = {finding.line for finding in findings.in_order()}
    lines = {written.key: written.line for entry in settings.entries.values() for written in entry.written}
    strays = {
        written.key for place, entry in settings.places() if place.scope is Scope.STRAY for written in entry.written
    }
    for key, why in idle_keys(settings).items():
        if lines[key] not in spoken_of and key not in strays:
            findings.warn(lines[key], f"{shown_key(key)} changes nothing: {why}")


def warn_of_unread(settings: Settings, enabled: Collection[tuple[str, str]], findings: Findings) -> None:
    """Known keys in a form that nobody reads, and keys that look misspelt."""
    for place, entry in settings.places():
        said = _what_is_wrong(settings, enabled, place, entry)
        if said:
            findings.warn(entry.line, said)


def _what_is_wrong(settings: Settings, enabled: Collection[tuple[str, str]], place: Place, entry: Entry) -> str | None:
    if place.scope in (Scope.SPARK, Scope.STRAY) or place.is_of_family:
        return None
    if place.key is not None:
        return _wrong_side(place.key, place, entry, enabled)
    if known := _known_elsewhere(place):
        forms = " or ".join(_forms_for(known, place, enabled or list(permutations(settings.aliases, 2))))
        said = f"{entry.written_key} changes nothing, as in MirrorMaker 2: expected {forms}"
        return said + _what_is_mirrored(settings, enabled, place, known.name)
    meant = nearest_key(place.name)
    if meant is None:
        return None
    owned = f"{place.owner}.{meant}" if (place.scope, meant) in PLACES and place.owner else meant
    said = f"unknown key {entry.written_key}: did you mean {owned}?"
    return said + _what_is_mirrored(settings, enabled, place, meant)


def _what_is_mirrored(settings: Settings, enabled: Collection[tuple[str, str]], place: Place, meant: str) -> str:
    """What a `topics` that is not read leaves: the default, which is every topic."""
    if meant != TOPICS.name:
        return ""
    about = [pair for pair in enabled if place.owner in ("", flow_name(*pair), *pair)]
    left = [flow_name(*pair) for pair in about if settings.find(TOPICS, *pair) is None]
    return f" As it is, {' and '.join(left)} mirrors every topic: topics = {TOPICS.default}" if left else ""


def nearest_key(name: str) -> str | None:
    """The known key that an unknown one was probably meant to be."""
    close = get_close_matches(name.lower(), KNOWN_KEYS, n=1, cutoff=_LIKENESS)
    return close[0] if close else None


# -- flows that are not there


def _split_stray(key: str) -> tuple[str, str]:
    """`cluster-2->cluster-1B->C.topics` -> the flow as written, and the longest known key behind it."""
    name = next((name for name in _NAMES_OF_FLOWS if key.endswith("." + name)), "")
    return key.removesuffix("." + name) if name else key, name


def _meant_flow(settings: Settings, pair: str) -> str | None:
    flows = [flow_name(a, b) for a, b in permutations(settings.aliases, 2)]
    close = get_close_matches(pair, flows, n=1, cutoff=_LIKENESS_OF_FLOWS)
    return close[0] if close else None


# -- known keys in the wrong place


def _known_elsewhere(place: Place) -> Key[object] | None:
    """The key that was meant by a name that is read, but not from here."""
    name = place.name
    for prefix in ("source.", "target.", ""):
        bare = name.removeprefix(prefix) if name.startswith(prefix) else name
        if known := KNOWN_KEYS.get(bare) or client_key(bare):
            return known
    return None


def _wrong_side(key: Key[object], place: Place, entry: Entry, enabled: Collection[tuple[str, str]]) -> str | None:
    """`A.consumer.x` where no flow has the source A."""
    if place.scope is not Scope.CLUSTER or not enabled:
        return None
    roles = {form.partition("}")[0][1:] for form in key.forms() if form.endswith("}." + place.name)}
    sources, targets = {pair[0] for pair in enabled}, {pair[1] for pair in enabled}
    if "cluster" in roles or not (sources | targets) & {place.owner}:
        return None
    is_read = ("source" in roles and place.owner in sources) or ("target" in roles and place.owner in targets)
    if is_read:
        return None
    forms = " or ".join(_forms_for(key, Place(Scope.GLOBAL, "", ""), enabled))
    return f"{entry.written_key} changes nothing, as in MirrorMaker 2: expected {forms}"


def _forms_for(key: Key[object], place: Place, pairs: Collection[tuple[str, str]]) -> Iterator[str]:
    """At most two forms that are read, for the flow or the cluster that the line is about."""
    flow = next((pair for pair in pairs if place.owner in (flow_name(*pair), *pair)), next(iter(pairs), ("A", "B")))
    forms = (form for form in key.forms() if "override" not in form)
    filled = (form.format(flow=flow_name(*flow), source=flow[0], target=flow[1], cluster=flow[0]) for form in forms)
    yield from sorted(filled, key=len)[:2]
