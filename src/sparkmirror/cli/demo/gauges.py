"""Figures of the live table: counts and latencies of an interval, a window of them, the whole run. Pure."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

WINDOW_S = 5.0


@dataclass(slots=True)
class Arrivals:
    """Records that came out of the target; latencies in whole milliseconds, as records' timestamps are."""

    bytes: int = 0
    latencies_ms: Counter[int] = field(default_factory=Counter)

    @property
    def records(self) -> int:
        return self.latencies_ms.total()

    def note(self, latency_ms: int, size: int) -> None:
        self.bytes += size
        self.latencies_ms[latency_ms] += 1

    def add(self, other: Arrivals) -> None:
        self.bytes += other.bytes
        self.latencies_ms.update(other.latencies_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The sum of a topic's end offsets on both sides."""

    source: int = 0
    target: int = 0

    @property
    def lag(self) -> int:
        return max(0, self.source - self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table. Percentiles are None until something has arrived."""

    topic: str
    codec: str
    ends: Ends
    mb_per_second: float
    p50_ms: int | None
    p99_ms: int | None


def percentile(counts: Counter[int], share: float) -> int | None:
    """The smallest value that at least `share` of all are not above."""
    wanted = share * counts.total()
    seen = 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= wanted:
            return value
    return None


class Gauge:
    """One topic's arrivals: the last seconds for the live table, all of them for the last one."""

    def __init__(self) -> None:
        self._window: deque[tuple[float, Arrivals]] = deque()
        self._window_s = 0.0
        self._total = Arrivals()
        self._total_s = 0.0

    def add(self, seconds: float, arrivals: Arrivals) -> None:
        self._window.append((seconds, arrivals))
        self._window_s += seconds
        while self._window_s - self._window[0][0] >= WINDOW_S:
            self._window_s -= self._window.popleft()[0]
        self._total.add(arrivals)
        self._total_s += seconds

    def settle(self) -> None:
        """What came so far is left out of the whole."""
        self._total, self._total_s = Arrivals(), 0.0

    def recent(self) -> tuple[float, Arrivals]:
        return self._window_s, merge(arrivals for _, arrivals in self._window)

    def whole(self) -> tuple[float, Arrivals]:
        return self._total_s, self._total


def merge(parts: Iterable[Arrivals]) -> Arrivals:
    out = Arrivals()
    for part in parts:
        out.add(part)
    return out


def make_row(topic: str, codec: str, ends: Ends, seconds: float, arrivals: Arrivals) -> Row:
    return Row(
        topic=topic,
        codec=codec,
        ends=ends,
        mb_per_second=arrivals.bytes / 1e6 / seconds if seconds > 0 else 0.0,
        p50_ms=percentile(arrivals.latencies_ms, 0.5),
        p99_ms=percentile(arrivals.latencies_ms, 0.99),
    )


def make_rows(
    codecs: Mapping[str, str], ends: Mapping[str, Ends], seen: Mapping[str, tuple[float, Arrivals]]
) -> list[Row]:
    """A row for each topic, and one for all of them."""
    rows = [make_row(topic, codec, ends.get(topic, Ends()), *seen[topic]) for topic, codec in codecs.items()]
    source, target = sum(row.ends.source for row in rows), sum(row.ends.target for row in rows)
    seconds = max((seconds for seconds, _ in seen.values()), default=0.0)
    everything = merge(arrivals for _, arrivals in seen.values())
    return [*rows, make_row("all", "", Ends(source=source, target=target), seconds, everything)]
