"""Reads a range of a partition for a comparison, the next fetch under way while the last is compared."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sparkmirror.copy.log_fetcher import FETCH_BYTES, PATIENCE_S, LogFetcher
from sparkmirror.copy.throttle import Throttle
from sparkmirror.errors import ConnectionLostError, SparkmirrorError
from sparkmirror.net.offsets import EARLIEST, LATEST
from sparkmirror.protocol import codes
from sparkmirror.verify.stretch import Stretch, stretches_of

AHEAD = 1  # fetches that wait to be compared


class TrimmedError(SparkmirrorError):
    """The log begins later than where it was to be read: retention, or DeleteRecords."""

    def __init__(self, what: str, start: int, *, is_target: bool) -> None:
        super().__init__(f"{what}: its log begins at offset {start} now")
        self.start, self.is_target = start, is_target


class Pace:
    """What all readers of a task may take together, and what they took."""

    def __init__(self, bytes_per_second: float | None) -> None:
        self.bytes = 0
        self._throttle = Throttle(bytes_per_second, time.monotonic())
        self._lock = threading.Lock()

    @property
    def most_bytes(self) -> int:
        return min(FETCH_BYTES, self._throttle.most_bytes)

    def wait(self) -> None:
        while True:
            with self._lock:
                wait_s = self._throttle.wait_s(time.monotonic())
            if not wait_s:
                return
            time.sleep(wait_s)

    def take(self, size: int) -> None:
        with self._lock:
            self.bytes += size
            self._throttle.take(size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a partition is read. `only_producer`: no batches but this one's; `skip_producers`: none of these."""

    log: LogFetcher
    pace: Pace
    is_target: bool = False
    only_producer: int | None = None
    skip_producers: tuple[int, ...] = ()

    def fetches(self, first: int, end: int) -> Iterator[list[Stretch]]:
        """What each fetch holds. TrimmedError: a part of it is gone."""
        position = first
        until = time.monotonic() + PATIENCE_S
        while position < end:
            self.pace.wait()
            fetched = self.log.fetch(position, self.pace.most_bytes)
            if fetched.error == codes.OFFSET_OUT_OF_RANGE:
                self._explain(position)
                continue
            self.pace.take(len(fetched.records))
            found, reached = stretches_of(
                np.frombuffer(fetched.records, np.uint8),
                position,
                stop_at=end,
                aborted=fetched.aborted,
                skip_producers=self.skip_producers,
                only_producer=self.only_producer,
            )
            yield found
            if reached > position:
                until = time.monotonic() + PATIENCE_S
            elif time.monotonic() > until:
                raise ConnectionLostError(f"{self.log}: nothing was read at offset {position} for {PATIENCE_S:g} s")
            position = reached

    def _explain(self, position: int) -> None:
        start, log_end = self.log.bound(EARLIEST), self.log.bound(LATEST)
        if start > position:
            raise TrimmedError(str(self.log), start, is_target=self.is_target)
        raise ConnectionLostError(f"{self.log}: the leader refuses offset {position} of {start}..{log_end}")


class Ahead:
    """Fetches on a thread of its own, ahead of who takes the stretches. To be closed."""

    def __init__(self, make: Callable[[], Iterator[list[Stretch]]]) -> None:
        self._items: queue.Queue[list[Stretch] | Exception | None] = queue.Queue(AHEAD)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(make,), name="verify reads", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[Stretch]:
        while (item := self._items.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield from item

    def close(self) -> None:
        self._closed.set()
        while self._thread.is_alive():
            try:
                self._items.get(timeout=0.05)
            except queue.Empty:
                self._thread.join(0.05)

    def _run(self, make: Callable[[], Iterator[list[Stretch]]]) -> None:
        try:
            for item in make():
                self._put(item)
                if self._closed.is_set():
                    return
            self._put(None)
        except Exception as error:  # whoever takes the items is told, whatever it is
            self._put(error)

    def _put(self, item: list[Stretch] | Exception | None) -> None:
        while not self._closed.is_set():
            try:
                self._items.put(item, timeout=0.5)
            except queue.Full:
                continue
            return
