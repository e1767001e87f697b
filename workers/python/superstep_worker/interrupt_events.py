"""Events that tell of an interrupt. They are sent when the state shows it (W10): a client that hears of one may ask for the
state at once. Everything else of the stream goes on meanwhile, so no write waits for an event that waits for the write."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .event_mapper import WireEvent


@dataclass(frozen=True)
class InterruptOptions:
    #: Nothing is saved before the end of the run (durability `exit`).
    saves_at_end: bool
    #: Returns when what the graph has asked to save so far is saved.
    saved_so_far: Callable[[], Awaitable[None]]
    #: Returns when everything is saved. Asked for when the graph's stream is over.
    all_saved: Callable[[], Awaitable[None]]
    send: Callable[[Sequence[WireEvent]], None]


class InterruptEvents:
    def __init__(self, options: InterruptOptions) -> None:
        self._options = options
        # Done when those that need not wait for the end are sent.
        self._sent: asyncio.Task[None] | None = None
        self._at_end: list[WireEvent] = []

    def take(self, events: Sequence[WireEvent]) -> Sequence[WireEvent]:
        """Keeps the events of a chunk that tell of an interrupt.

        :returns: the others
        """
        held = [event for event in events if _tells_of_interrupt(event)]
        if not held:
            return events
        # A breakpoint, which asks nothing, is the last thing that a graph tells; its checkpoint may still be on its way.
        if self._options.saves_at_end or any(map(_is_breakpoint, held)):
            self._at_end.extend(held)
        else:
            self._sent = asyncio.ensure_future(self._send(self._sent, held))
        return [event for event in events if not _tells_of_interrupt(event)]

    async def end(self) -> None:
        """The graph's stream is over: returns when all are sent."""
        if self._sent is not None:
            await self._sent
        if self._at_end:
            await self._options.all_saved()
            self._options.send(self._at_end)

    async def _send(self, before: asyncio.Task[None] | None, events: Sequence[WireEvent]) -> None:
        await self._options.saved_so_far()
        if before is not None:
            await before
        self._options.send(events)


def _is_breakpoint(event: WireEvent) -> bool:
    return isinstance(event.data, dict) and event.data.get("__interrupt__") in ([], ())


def _tells_of_interrupt(event: WireEvent) -> bool:
    """`updates` and `values` have it under a name of its own, `tasks` with a task's result, and `debug` wraps that."""
    data = event.data
    if not isinstance(data, dict):
        return False
    payload = data.get("payload")
    return (
        isinstance(data.get("__interrupt__"), (list, tuple))
        or _is_question(data.get("interrupts"))
        or (isinstance(payload, dict) and _is_question(payload.get("interrupts")))
    )


def _is_question(interrupts: Any) -> bool:
    return isinstance(interrupts, (list, tuple)) and len(interrupts) > 0
