"""Which checkpoints are saved or being saved. LangGraph saves a checkpoint only after the previous one is saved, so it may
request the first writes of a checkpoint's tasks, such as an interrupt, before the checkpoint itself."""

from __future__ import annotations

import asyncio


class ExpectedCheckpoints:
    def __init__(self) -> None:
        # Ids of checkpoints that the server has, or whose saving was requested.
        self._known: set[str] = set()
        # Checkpoints whose writes were requested before they were.
        self._expected: dict[str, asyncio.Event] = {}

    def add(self, checkpoint_id: str) -> None:
        """Records that the server has this checkpoint, or is about to get it."""
        self._known.add(checkpoint_id)
        asked = self._expected.pop(checkpoint_id, None)
        if asked is not None:
            asked.set()

    def expect(self, checkpoint_id: str) -> None:
        """Records that writes for this checkpoint were requested."""
        if checkpoint_id not in self._known:
            self._expected.setdefault(checkpoint_id, asyncio.Event())

    async def asked(self) -> None:
        """Returns when the saving of all checkpoints that are expected now was requested."""
        for event in list(self._expected.values()):
            await event.wait()

    def close(self) -> None:
        """Stops waiting: no more checkpoints will come."""
        for event in self._expected.values():
            event.set()
