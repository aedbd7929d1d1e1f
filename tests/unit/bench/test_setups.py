"""What each mirror is told, and what a user may ask for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import typer

from bench.__main__ import parse_choice, parse_label
from bench.machine import cpu_model, keys_not_in_force
from bench.mirrors import without_paths
from bench.setups import DEFAULT_WORK, Setup, example_properties
from bench.sizes import MIRRORS, SCENARIOS, Sizes
from sparkmirror.config.mirror import load_mirror_config


def setup(name: str) -> Setup:
    return Setup(name=name, run="main", topics=("t1", "t2"), source_bootstrap="s:1", target_bootstrap="t:2", tasks=2)


def test_ours_and_the_default_differ_only_in_their_names() -> None:
    ours = setup("sparkmirror").properties.replace("sparkmirror", "mm2")
    assert ours == setup("mm2").properties


def test_ours_is_tuned_as_the_other_for_steady_traffic() -> None:
    ours = replace(setup("sparkmirror-tuned"), is_steady=True).properties.replace("sparkmirror", "mm2")
    assert ours == replace(setup("mm2-tuned"), is_steady=True).properties


def test_tuning_reaches_the_source_consumer_and_the_data_producer() -> None:
    tuned = setup("mm2-tuned")
    extra = set(tuned.properties.splitlines()) - set(setup("mm2").properties.replace("mm2-", "mm2-tuned-").splitlines())
    assert extra
    assert all(line.startswith(("mm2-tuned-main-a.consumer.", "mm2-tuned-main-b.producer.")) for line in extra)


@pytest.mark.parametrize("name", MIRRORS)
def test_properties_are_one_flow_with_the_topics_given(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mirror.properties"
    file.write_text(setup(name).properties)
    (flow,) = load_mirror_config(file).flows
    assert flow.name == f"{name}-main-a->{name}-main-b"
    assert tuple(flow.topics) == ("t1", "t2")
    assert flow.tasks_max == 2


def test_runs_of_one_mirror_share_no_alias() -> None:
    aliases = {f"{name}-{run}-{side}" for name in MIRRORS for run in ("main", "once") for side in "ab"}
    assert len(aliases) == 4 * len(MIRRORS)


def test_only_switches_that_do_nothing_are_told() -> None:
    keys = keys_not_in_force(example_properties("sparkmirror", ["burst"], 2), (*DEFAULT_WORK, "tasks.max.enforce"))
    assert set(keys) <= {*DEFAULT_WORK, "tasks.max.enforce"}


def test_choice_is_in_the_order_of_the_run() -> None:
    assert parse_choice("latency, burst", SCENARIOS, "--only") == ["burst", "latency"]


@pytest.mark.parametrize("text", ["", "burst,nothing", ","])
def test_unknown_choice_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="choose from"):
        parse_choice(text, SCENARIOS, "--only")


def test_label_is_a_part_of_a_file_name() -> None:
    assert parse_label("quiet-machine_1.0") == "quiet-machine_1.0"
    with pytest.raises(typer.BadParameter):
        parse_label("../x")


def test_small_scale_shortens_waits_and_large_scale_does_not_stretch_them() -> None:
    small, whole, large = Sizes.at(0.02), Sizes.at(1), Sizes.at(3)
    assert (small.burst_records, small.settle_s, small.idle_s) == (20_000, 2.0, 5.0)
    assert (whole.burst_records, whole.settle_s, whole.idle_s, whole.latency_records) == (1_000_000, 20.0, 60.0, 200)
    assert (large.burst_records, large.settle_s, large.idle_s) == (3_000_000, 20.0, 60.0)


def test_paths_of_this_machine_are_taken_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert without_paths(f"at {tmp_path}/mm2/log and {Path.cwd()}/src/x.py") == "at TMP/mm2/log and ./src/x.py"


def test_cpu_model(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor : 0\nmodel name\t: Abacus 9000\n")
    assert cpu_model(cpuinfo) == "Abacus 9000"
