"""Which configurations a remote topic gets (MirrorSourceConnectorTest's rules, and ours for what was set by hand)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.topology.filters import DefaultConfigPropertyFilter
from sparkmirror.topology.topic_configs import (
    DEFAULT,
    OF_BROKER_FILE,
    OF_TOPIC,
    TIMESTAMP_TYPE,
    ConfigChanges,
    ConfigEntry,
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
    for chosen in (usual, every):
        assert not plan_config_changes(defaults(TIMESTAMP_TYPE), made, chosen, ours=set(made), strict=True)
    by_hand = {TIMESTAMP_TYPE: ConfigEntry("LogAppendTime", OF_TOPIC)}
    assert not plan_config_changes(defaults(TIMESTAMP_TYPE), by_hand, usual, ours=set(made))


def test_changes_without_some_names_neither_set_nor_remove_them() -> None:
    changes = ConfigChanges(set={"a": "1", "b": "2"}, remove=("c", "d"))
    assert changes.names_of({"d", "a", "x"}) == ["a", "d"]
    assert changes.without("a", "d") == ConfigChanges(set={"b": "2"}, remove=("c",))


def test_only_what_differs_is_written() -> None:
    target = defaults(*SOURCE) | {"set": ConfigEntry("1", OF_TOPIC), "dynamic": ConfigEntry("9", OF_TOPIC)}
    assert plan_config_changes(SOURCE, target, PLAIN) == ConfigChanges(set={"dynamic": "2"})
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
    assert plan_config_changes(source, target, PLAIN, ours={"ours", "gone"}).remove == ("ours",)


def test_strict_removes_whatever_the_source_has_by_default() -> None:
    source = defaults("by.hand", "excluded.two") | {"static": ConfigEntry("5", OF_BROKER_FILE)}
    target = {name: ConfigEntry("1", OF_TOPIC) for name in source}
    assert plan_config_changes(source, target, PLAIN, strict=True).remove == ("by.hand",)
    assert plan_config_changes(source, target, FROM_SOURCE, strict=True).remove == ()


def test_what_is_excluded_is_never_touched_even_if_we_set_it_once() -> None:
    target = {"excluded.one": ConfigEntry("1", OF_TOPIC)}
    assert not plan_config_changes({}, target, PLAIN, ours={"excluded.one"}, strict=True)


def test_limits_that_the_copy_raised_are_not_lowered_unless_strict() -> None:
    source, target = (
        {"max.message.bytes": ConfigEntry("100", OF_TOPIC)},
        {"max.message.bytes": ConfigEntry("200", OF_TOPIC)},
    )
    assert not plan_config_changes(source, target, PLAIN)
    assert plan_config_changes(source, target, PLAIN, strict=True).set == {"max.message.bytes": "100"}
    lower = {"max.message.bytes": ConfigEntry("50", OF_TOPIC)}
    assert plan_config_changes(source, lower, PLAIN).set == {"max.message.bytes": "100"}


entries = st.dictionaries(
    st.sampled_from(["a", "b", "c", "excluded.d", "max.message.bytes"]),
    st.builds(ConfigEntry, st.sampled_from(["1", "2"]), st.sampled_from([OF_TOPIC, DEFAULT, 3])),
)


@given(entries, entries, st.sets(st.sampled_from("abc")), st.booleans())
def test_a_second_run_writes_nothing(
    source: dict[str, ConfigEntry], target: dict[str, ConfigEntry], ours: set[str], strict: bool
) -> None:
    changes = plan_config_changes(source, target, PLAIN, ours=ours, strict=strict)
    after = target | {name: ConfigEntry(value, OF_TOPIC) for name, value in changes.set.items()}
    after |= defaults(*changes.remove)
    assert not plan_config_changes(
        source, after, PLAIN, ours=(ours | changes.set.keys()) - set(changes.remove), strict=strict
    )
    assert all(after[name] == target[name] for name in target if name.startswith("excluded"))
