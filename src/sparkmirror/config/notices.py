"""What a file says that does not do what its author wanted, and what would."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from itertools import permutations

from sparkmirror.config.findings import Findings
from sparkmirror.config.keys import KNOWN_KEYS, PLACES, Key, Scope, State, client_key
from sparkmirror.config.properties import Entry
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


def refuse_unknown_flows(settings: Settings, findings: Findings) -> None:
    """A flow that was switched on and can't run is an error; other keys of such a flow only warn."""
    known = ", ".join(settings.aliases)
    strays = (entry for place, entry in settings.places() if place.scope is Scope.STRAY)
    for entry in strays:
        pair, name = _split_stray(entry.key)
        if name == "enabled" and entry.value.strip().lower() != "false":
            meant = _meant_flow(settings, pair) or "A->B"
            said = f"{pair} is no flow between two of the clusters {known}; expected {meant}.enabled"
            findings.error(entry.line, f"{entry.key}: {said} with two different aliases of these")


def idle_keys(settings: Settings) -> dict[str, bool]:
    """Keys of the file, as written, that change nothing yet, sorted; whether each is known."""
    idle = [(entry, place) for place, entry in settings.places() if _is_idle(place)]
    known = {written.key: place.key is not None for entry, place in idle for written in entry.written}
    return dict(sorted(known.items()))


def _is_idle(place: Place) -> bool:
    if place.scope is Scope.SPARK:
        return False
    key = place.key
    if key is None:
        return not place.name.startswith("config.providers.")
    return key.state is State.LATER


def warn_of_unread(settings: Settings, enabled: Collection[tuple[str, str]], findings: Findings) -> None:
    """Lines of no flow, known keys in a form that nobody reads, and keys that look misspelt."""
    for place, entry in settings.places():
        said = _what_is_wrong(settings, enabled, place, entry)
        if said:
            findings.warn(entry.line, said)


def _what_is_wrong(settings: Settings, enabled: Collection[tuple[str, str]], place: Place, entry: Entry) -> str | None:
    if place.scope is Scope.SPARK or place.is_of_family:
        return None
    if place.scope is Scope.STRAY:
        pair, name = _split_stray(place.name)
        meant = _meant_flow(settings, pair) if name else None
        advice = f": did you mean {meant}.{name}?" if meant else ""
        return f"{entry.key} belongs to no flow between two of the clusters, and changes nothing{advice}"
    if place.key is not None:
        return _wrong_side(place.key, place, entry, enabled)
    if known := _known_elsewhere(place):
        forms = " or ".join(_forms_for(known, place, enabled or list(permutations(settings.aliases, 2))))
        return f"{entry.written_key} changes nothing, as in MirrorMaker 2: expected {forms}"
    meant = nearest_key(place.name)
    return f"unknown key {entry.written_key}: did you mean {meant}?" if meant else None


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
