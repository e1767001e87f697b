"""Reads a run's stream and knows whether everything produced so far has been written. LangGraph saves in the background
while events are still on their way; a checkpoint must not overtake them (W2), so the saver waits here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

# Between a task's commit and the reader, an event passes only through callbacks of the event loop. Each takes one turn, whatever else
# the loop has to do. JavaScript waits for one turn, since all promise jobs end before the next one; asyncio has no such boundary, so
# this waits for more turns than LangGraph has callbacks there: three, and five when LangChain's events carry the stream.
_turns = 10
# What a node has said at once would be read without a turn of the event loop (W7).
_items_a_turn = 100


class EventFeed:
    def __init__(self) -> None:
        # Set while the reader has no item: it waits for the next one, or the stream has ended.
        self._is_parked = asyncio.Event()
        self._is_parked.set()

    async def read(
        self, stream: AsyncIterator[Any], on_item: Callable[[Any], None], room: Callable[[], Awaitable[None]]
    ) -> None:
        """Calls `on_item` for each item in order until the stream ends, and waits for `room` before each."""
        items = 0
        async for item in stream:
            self._is_parked.clear()
            try:
                await room()
                on_item(item)
                items += 1
                if items % _items_a_turn == 0:
                    await asyncio.sleep(0)
            finally:
                self._is_parked.set()

    async def written(self) -> None:
        """Returns when the reader has written every event that was produced before this call."""
        await self.turns()
        while not self._is_parked.is_set():
            await self._is_parked.wait()
            await self.turns()

    async def turns(self) -> None:
        """Returns when everything that LangGraph has produced or requested so far has arrived here."""
        for _ in range(_turns):
            await asyncio.sleep(0)
