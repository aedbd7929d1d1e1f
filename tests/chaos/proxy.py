"""A TCP proxy on loopback between the mirror and one broker: what a network does to connections.

refuse      connections end, and no new one is taken
hold        what is sent in a direction waits, as packets do that are sent again and again; both directions are a
            black hole, one of them is a one-way street
delay_s     each piece comes later
split       the next answer of each connection comes in half, then the connection ends
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Mapping
from typing import Any

from sparkmirror.embedded.ports import HOST

REQUESTS, ANSWERS = "requests", "answers"
PIECE = 1 << 16
DEADLINE_S = 10.0


class ProxyLoop:
    """One event loop, on a thread of its own, for all proxies."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxies", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(DEADLINE_S)

    def close(self) -> None:
        self.run(_cancel_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE_S)
        self._loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class Proxy:
    """From `port` to `broker_port`. Its methods may be called from any thread."""

    def __init__(self, loop: ProxyLoop, port: int, broker_port: int) -> None:
        self._loop = loop
        self._port, self._broker_port = port, broker_port
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._open: dict[str, asyncio.Event] = {}
        self._delay_s = 0.0
        self._splits = False
        loop.run(self._begin())

    # -- what a fault does

    def cut(self) -> None:
        """All connections end; new ones are taken."""
        self._loop.run(self._cut())

    def refuse(self) -> None:
        self._loop.run(self._refuse())

    def hold(self, *directions: str) -> None:
        self._loop.run(self._gate(dict.fromkeys(directions, False)))

    def delay(self, seconds: float) -> None:
        self._delay_s = seconds

    def split(self) -> None:
        self._splits = True

    def heal(self) -> None:
        """All is well again; what was held is delivered."""
        self._delay_s, self._splits = 0.0, False
        self._loop.run(self._gate({REQUESTS: True, ANSWERS: True}))
        self._loop.run(self._listen())

    def close(self) -> None:
        self._loop.run(self._refuse())

    # -- on the loop

    async def _begin(self) -> None:
        self._open = {REQUESTS: asyncio.Event(), ANSWERS: asyncio.Event()}
        for event in self._open.values():
            event.set()
        await self._listen()

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, HOST, self._port, reuse_address=True)

    async def _refuse(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._cut()

    async def _cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _gate(self, is_open: Mapping[str, bool]) -> None:
        for direction, opens in is_open.items():
            (self._open[direction].set if opens else self._open[direction].clear)()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            above, below = await asyncio.open_connection(HOST, self._broker_port)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, below}
        ways = [self._pump(REQUESTS, reader, below), self._pump(ANSWERS, above, writer)]
        tasks = [asyncio.create_task(way) for way in ways]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            self._writers -= {writer, below}
            for each in (writer, below):
                each.transport.abort()

    async def _pump(self, direction: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(PIECE):
                if self._delay_s:
                    await asyncio.sleep(self._delay_s)
                await self._open[direction].wait()
                if self._splits and direction == ANSWERS and len(piece) > 1:
                    writer.write(piece[: len(piece) // 2])
                    await writer.drain()
                    return
                writer.write(piece)
                await writer.drain()
