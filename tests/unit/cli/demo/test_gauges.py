"""Figures of the demo's table."""

from __future__ import annotations

from collections import Counter

from sparkmirror.cli.demo.gauges import Arrivals, Ends, Gauge, make_rows, percentile


def arrivals(*latencies_ms: int, size: int = 100) -> Arrivals:
    out = Arrivals()
    for latency_ms in latencies_ms:
        out.note(latency_ms, size)
    return out


def test_percentiles() -> None:
    assert percentile(Counter(range(1, 101)), 0.5) == 50
    assert percentile(Counter(range(1, 101)), 0.99) == 99
    assert percentile(Counter({7: 1000, 900: 1}), 0.99) == 7
    assert percentile(Counter([3]), 0.99) == 3


def test_percentile_of_nothing_is_unknown() -> None:
    assert percentile(Counter(), 0.5) is None


def test_lag_is_never_negative() -> None:
    assert Ends(source=10, target=7).lag == 3
    assert Ends(source=10, target=11).lag == 0


def test_window_forgets_what_is_older_than_five_seconds() -> None:
    gauge = Gauge()
    gauge.add(1.0, arrivals(500))
    for _ in range(5):
        gauge.add(1.0, arrivals(5))
    seconds, recent = gauge.recent()
    assert (seconds, recent.latencies_ms) == (5.0, Counter({5: 5}))
    seconds, whole = gauge.whole()
    assert (seconds, whole.records, whole.bytes) == (6.0, 6, 600)


def test_the_start_is_left_out_of_the_whole() -> None:
    gauge = Gauge()
    gauge.add(5.0, arrivals(900))
    gauge.settle()
    gauge.add(2.0, arrivals(3))
    seconds, whole = gauge.whole()
    assert (seconds, list(whole.latencies_ms)) == (2.0, [3])


def test_one_long_tick_is_kept() -> None:
    gauge = Gauge()
    gauge.add(60.0, arrivals(5))
    assert gauge.recent()[1].records == 1


def test_rows_end_with_the_sum() -> None:
    ends = {"orders": Ends(source=10, target=9), "audit": Ends(source=5, target=5)}
    seen = {"orders": (2.0, arrivals(1, 1, 1, size=1_000_000)), "audit": (2.0, arrivals(90, size=1_000_000))}
    orders, audit, everything = make_rows({"orders": "lz4", "audit": "none"}, ends, seen)
    assert (orders.topic, orders.codec, orders.ends.lag, orders.mb_per_second) == ("orders", "lz4", 1, 1.5)
    assert (audit.p50_ms, audit.p99_ms) == (90, 90)
    assert (everything.topic, everything.ends) == ("all", Ends(source=15, target=14))
    assert (everything.mb_per_second, everything.p50_ms, everything.p99_ms) == (2.0, 1, 90)


def test_rows_before_anything_arrived() -> None:
    (row, _) = make_rows({"orders": "lz4"}, {}, {"orders": Gauge().whole()})
    assert (row.mb_per_second, row.p50_ms, row.ends.source) == (0.0, None, 0)
