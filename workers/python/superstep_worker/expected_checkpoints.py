"""Which checkpoints are saved, or on their way. LangGraph saves a checkpoint after the one before it is saved, so the first
writes of its tasks, such as an interrupt, may be asked for earlier than the checkpoint that they belong to."""

from __future__ import annotations

import asyncio


class ExpectedCheckpoints:
    def __init__(self) -> None:
        # Ids of those that the server has, or that were asked to be saved.
        self._known: set[str] = set()
        # Those that writes came for before they came themselves.
        self._expected: dict[str, asyncio.Event] = {}

    def add(self, checkpoint_id: str) -> None:
        """The server has this checkpoint, or is about to be asked to save it."""
        self._known.add(checkpoint_id)
        asked = self._expected.pop(checkpoint_id, None)
        if asked is not None:
            asked.set()

    def expect(self, checkpoint_id: str) -> None:
        """Writes came for this checkpoint."""
        if checkpoint_id not in self._known:
            self._expected.setdefault(checkpoint_id, asyncio.Event())

    async def asked(self) -> None:
        """Returns when all that are expected now were asked to be saved."""
        for event in list(self._expected.values()):
            await event.wait()

    def close(self) -> None:
        """None will come any more."""
        for event in self._expected.values():
            event.set()
