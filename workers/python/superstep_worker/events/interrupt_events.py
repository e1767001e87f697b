"""Events that report an interrupt. They are sent once the state shows the interrupt (W10), since a client may read the state
as soon as it gets one. Other events of the stream go on meanwhile, so no write waits for an event that waits for the write."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .wire_event import WireEvent


@dataclass(frozen=True)
class InterruptOptions:
    #: Nothing is saved before the end of the run (durability `exit`).
    saves_at_end: bool
    #: Returns when all saves that the graph has requested so far are done.
    saved_so_far: Callable[[], Awaitable[None]]
    #: Returns when everything is saved. Called when the graph's stream is over.
    all_saved: Callable[[], Awaitable[None]]
    #: Waits while events are paused.
    send: Callable[[Sequence[WireEvent]], Awaitable[None]]


class InterruptEvents:
    def __init__(self, options: InterruptOptions) -> None:
        self._options = options
        # Done when the events that need not wait for the end are sent.
        self._sent: asyncio.Task[None] | None = None
        self._at_end: list[WireEvent] = []

    def take(self, events: Sequence[WireEvent]) -> Sequence[WireEvent]:
        """Holds back the events of a chunk that report an interrupt.

        :returns: the other events
        """
        held = [event for event in events if _tells_of_interrupt(event)]
        if not held:
            return events
        # A breakpoint is the last event of a graph; its checkpoint may still be on its way.
        if self._options.saves_at_end or any(map(_is_breakpoint, held)):
            self._at_end.extend(held)
        else:
            self._sent = asyncio.ensure_future(self._send(self._sent, held))
        return [event for event in events if not _tells_of_interrupt(event)]

    async def end(self) -> None:
        """Called when the graph's stream is over; returns when all held events are sent."""
        if self._sent is not None:
            await self._sent
        if self._at_end:
            await self._options.all_saved()
            await self._options.send(self._at_end)

    async def _send(self, before: asyncio.Task[None] | None, events: Sequence[WireEvent]) -> None:
        await self._options.saved_so_far()
        if before is not None:
            await before
        await self._options.send(events)


def _is_breakpoint(event: WireEvent) -> bool:
    return isinstance(event.data, dict) and event.data.get("__interrupt__") in ([], ())


def _tells_of_interrupt(event: WireEvent) -> bool:
    """`updates` and `values` have interrupts under `__interrupt__`, `tasks` with a task's result, and `debug` wraps that. A user's
    state or custom event may have a field `interrupts`, so the event's name decides."""
    data, channel = event.data, event.name.removeprefix("protocol:").partition("|")[0]
    if not isinstance(data, dict):
        return False
    if channel in ("updates", "values", "input.requested"):
        return isinstance(data.get("__interrupt__"), (list, tuple))
    if channel in ("tasks", "lifecycle"):
        return _is_question(data.get("interrupts"))
    payload = data.get("payload") if channel == "debug" else None
    return isinstance(payload, dict) and _is_question(payload.get("interrupts"))


def _is_question(interrupts: Any) -> bool:
    return isinstance(interrupts, (list, tuple)) and len(interrupts) > 0
