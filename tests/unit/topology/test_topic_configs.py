"""Which configurations a remote topic gets (MirrorSourceConnectorTest's rules, and ours for what was set by hand)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.topology.filters import DefaultConfigPropertyFilter
from sparkmirror.topology.known_configs import KnownConfigs
from sparkmirror.topology.topic_configs import (
    DEFAULT,
    OF_BROKER_FILE,
    OF_TOPIC,
    TIMESTAMP_TYPE,
    ConfigChanges,
    ConfigEntry,
    kept_text,
    plan_config_changes,
    plan_new_configs,
)

OWN_TIMES = {TIMESTAMP_TYPE: "CreateTime"}
PLAIN = DefaultConfigPropertyFilter.of(["excluded.*"])
FROM_SOURCE = DefaultConfigPropertyFilter.of([], "source")

SOURCE = {
    "set": ConfigEntry("1", OF_TOPIC),
    "dynamic": ConfigEntry("2", 3),
    "default": ConfigEntry("3", DEFAULT),
    "excluded.one": ConfigEntry("4", OF_TOPIC),
    "static": ConfigEntry("5", OF_BROKER_FILE),
    "fixed": ConfigEntry("6", OF_TOPIC, is_read_only=True),
    "secret": ConfigEntry(None, OF_TOPIC, is_sensitive=True),
}


def defaults(*names: str) -> dict[str, ConfigEntry]:
    return {name: ConfigEntry("0", DEFAULT) for name in names}


def test_a_new_topic_gets_what_the_source_sets_and_the_filter_lets_through() -> None:
    assert plan_new_configs(SOURCE, SOURCE, PLAIN) == ConfigChanges(set=OWN_TIMES | {"set": "1", "dynamic": "2"})


def test_with_defaults_from_the_source_these_are_set_too() -> None:
    changes = plan_new_configs(SOURCE, SOURCE, FROM_SOURCE)
    assert set(changes.set) == {"set", "dynamic", "default", "excluded.one", TIMESTAMP_TYPE}


def test_what_the_targets_brokers_do_not_know_is_left_out_and_said() -> None:
    assert plan_new_configs(SOURCE, {"set"}, PLAIN) == ConfigChanges(set=OWN_TIMES | {"set": "1"}, unknown=("dynamic",))
    changes = plan_config_changes(SOURCE, defaults("set"), PLAIN)
    assert (changes.set, changes.unknown) == ({"set": "1"}, ("dynamic",))


def test_a_new_topic_keeps_the_times_of_records_unless_the_file_wants_the_sources_way() -> None:
    source = {TIMESTAMP_TYPE: ConfigEntry("LogAppendTime", OF_TOPIC)}
    usual, every = DefaultConfigPropertyFilter.of([TIMESTAMP_TYPE]), DefaultConfigPropertyFilter.of([])
    assert plan_new_configs(source, source, usual).set == OWN_TIMES
    assert plan_new_configs(source, source, every).set == {TIMESTAMP_TYPE: "LogAppendTime"}
    assert plan_new_configs({}, {}, every).set == OWN_TIMES, "also of a source that shows none"
    made = {TIMESTAMP_TYPE: ConfigEntry("CreateTime", OF_TOPIC)}
    ours = KnownConfigs().having(OWN_TIMES)
    for chosen in (usual, every):
        assert not plan_config_changes(defaults(TIMESTAMP_TYPE), made, chosen, known=ours, strict=True)
    by_hand = {TIMESTAMP_TYPE: ConfigEntry("LogAppendTime", OF_TOPIC)}
    assert not plan_config_changes(defaults(TIMESTAMP_TYPE), by_hand, usual, known=ours)


def test_changes_without_some_names_neither_set_nor_remove_them() -> None:
    changes = ConfigChanges(set={"a": "1", "b": "2"}, remove=("c", "d"))
    assert changes.names_of({"d", "a", "x"}) == ["a", "d"]
    assert changes.without("a", "d") == ConfigChanges(set={"b": "2"}, remove=("c",))


def test_only_what_differs_is_written() -> None:
    target = defaults(*SOURCE) | {"set": ConfigEntry("1", OF_TOPIC), "dynamic": ConfigEntry("9", OF_TOPIC)}
    changes = plan_config_changes(SOURCE, target, PLAIN, known=KnownConfigs(written={"dynamic": ("9",)}))
    assert (changes.set, changes.remove, changes.kept) == ({"dynamic": "2"}, (), {})
    target["dynamic"] = ConfigEntry("2", OF_TOPIC)
    assert not plan_config_changes(SOURCE, target, PLAIN)


def test_a_value_that_only_happens_to_be_equal_is_set() -> None:
    """The target's default may change, the source's setting does not."""
    assert plan_config_changes({"k": ConfigEntry("1", OF_TOPIC)}, {"k": ConfigEntry("1", DEFAULT)}, PLAIN).set == {
        "k": "1"
    }


def test_what_was_set_by_hand_stays_and_what_we_set_goes_with_the_source() -> None:
    source = defaults("by.hand", "ours", "gone")
    target = {
        "by.hand": ConfigEntry("1", OF_TOPIC),
        "ours": ConfigEntry("2", OF_TOPIC),
        "gone": ConfigEntry("0", DEFAULT),
    }
    known = KnownConfigs(written={"ours": ("2",), "gone": ("3",)})
    changes = plan_config_changes(source, target, PLAIN, known=known)
    assert changes.remove == ("ours",) and changes.kept == {"by.hand": ("1", None)}


@pytest.mark.parametrize(
    ("has", "wrote", "wanted", "becomes"),
    [
        ("1", ("1",), "2", "2"),
        ("1", ("1",), None, None),
        ("1", None, "1", "1"),
        ("3", ("1",), "2", "3"),
        ("3", ("1",), None, "3"),
        ("3", None, "2", "3"),
        (None, ("1",), "2", None),
        (None, None, "2", "2"),
        ("1", ("1", "2"), "3", "3"),  # a change was under way, and did not come there
        ("2", ("1", "2"), "3", "3"),  # or did
        (None, ("1", None), "3", "3"),
    ],
)
def test_only_what_the_mirror_wrote_follows_the_source(
    has: str | None, wrote: tuple[str | None, ...] | None, wanted: str | None, becomes: str | None
) -> None:
    known = KnownConfigs(written={"k": wrote} if wrote else {})
    changes = plan_config_changes({"k": entry(wanted)}, {"k": entry(has)}, PLAIN, known=known)
    assert changes.values.get("k", has) == becomes
    assert changes.kept == ({"k": (has, wanted)} if becomes != wanted else {})
    if becomes != wanted:  # also if the source comes to it by chance, unless the flow back brought it there
        alike, k = {"k": entry(has)}, changes.known
        again = plan_config_changes(alike, alike, PLAIN, known=k)
        assert not again and again.known == k
        assert plan_config_changes(alike, alike, PLAIN, known=k, goes_round=True).known.by_hand == {}
        changed = plan_config_changes({"k": entry("7")}, {"k": entry("7")}, PLAIN, known=k)
        assert changed.known == KnownConfigs(written={"k": ("7",)}), "whoever sets the source's value gives it back"


def test_what_was_written_for_another_source_topic_stays_as_if_set_by_hand() -> None:
    known = KnownConfigs(source_id="old", written={"kept": ("-1",), "alike": ("1",)})
    source = {"kept": entry(None), "alike": entry("1"), "new": entry("5")}
    target = {"kept": entry("-1"), "alike": entry("1"), "new": entry(None)}
    changes = plan_config_changes(source, target, PLAIN, known=known, source_id="anew")
    assert not changes and changes.kept == {"kept": ("-1", None), "new": (None, "5")}
    assert changes.known.written == {"alike": ("1",)} and changes.known.source_id == "anew"
    source["alike"] = entry("2")
    assert plan_config_changes(source, target, PLAIN, known=changes.known, source_id="anew").set == {"alike": "2"}
    for source_id in ("old", ""):  # "": brokers do not say
        assert plan_config_changes(source, target, PLAIN, known=known, source_id=source_id).remove == ("kept",)


def test_what_stays_is_told_with_what_the_source_has() -> None:
    assert kept_text("retention.ms", "-1", "5", "A") == "retention.ms=-1 stays, set by hand (A: 5)"
    assert kept_text("retention.ms", None, "5", "A") == "no retention.ms stays, set by hand (A: 5)"
    said = kept_text("max.message.bytes", "9", None, "A")
    assert said == "max.message.bytes=9 stays, set by hand or raised for a record (A: not set)"


def entry(value: str | None) -> ConfigEntry:
    return ConfigEntry("0", DEFAULT) if value is None else ConfigEntry(value, OF_TOPIC)


def test_strict_removes_whatever_the_source_has_by_default() -> None:
    source = defaults("by.hand", "excluded.two") | {"static": ConfigEntry("5", OF_BROKER_FILE)}
    target = {name: ConfigEntry("1", OF_TOPIC) for name in source}
    assert plan_config_changes(source, target, PLAIN, strict=True).remove == ("by.hand",)
    assert plan_config_changes(source, target, FROM_SOURCE, strict=True).remove == ()


def test_what_is_excluded_is_never_touched_even_if_we_set_it_once() -> None:
    target = {"excluded.one": ConfigEntry("1", OF_TOPIC)}
    known = KnownConfigs(written={"excluded.one": ("1",)}, by_hand={"excluded.two": "3"})
    changes = plan_config_changes({}, target, PLAIN, known=known, strict=True)
    assert not changes and changes.known == known


def test_limits_that_the_copy_raised_are_not_lowered_unless_strict() -> None:
    source, target = (
        {"max.message.bytes": ConfigEntry("100", OF_TOPIC)},
        {"max.message.bytes": ConfigEntry("200", OF_TOPIC)},
    )
    for known in (KnownConfigs(), KnownConfigs(written={"max.message.bytes": ("200",)})):
        assert not plan_config_changes(source, target, PLAIN, known=known)
        assert plan_config_changes(source, target, PLAIN, known=known, strict=True).set == {"max.message.bytes": "100"}
    lower, ours = {"max.message.bytes": entry("50")}, KnownConfigs(written={"max.message.bytes": ("50",)})
    assert plan_config_changes(source, lower, PLAIN, known=ours).set == {"max.message.bytes": "100"}


entries = st.dictionaries(
    st.sampled_from(["a", "b", "c", "excluded.d", "max.message.bytes"]),
    st.builds(ConfigEntry, st.sampled_from(["1", "2"]), st.sampled_from([OF_TOPIC, DEFAULT, 3])),
)


@given(entries, entries, st.sets(st.sampled_from("abc")), st.booleans())
def test_a_second_run_writes_nothing(
    source: dict[str, ConfigEntry], target: dict[str, ConfigEntry], ours: set[str], strict: bool
) -> None:
    known = KnownConfigs(written=dict.fromkeys(ours, ("1",)))
    changes = plan_config_changes(source, target, PLAIN, known=known, strict=strict)
    after = target | {name: ConfigEntry(value, OF_TOPIC) for name, value in changes.set.items()}
    after |= defaults(*changes.remove)
    done = changes.known.having(changes.values)
    again = plan_config_changes(source, after, PLAIN, known=done, strict=strict)
    assert not again and again.kept == changes.kept and again.known == done
    assert all(after[name] == target[name] for name in target if name.startswith("excluded"))
