"""The pending writes of one checkpoint, stored under the server's rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP

from .checkpoint_lines import PlacedWrite


class PendingWrites:
    def __init__(self) -> None:
        # By task and index.
        self._writes: dict[tuple[str, int], PlacedWrite] = {}

    def load(self, writes: Iterable[PlacedWrite]) -> None:
        """Adds writes that the server has."""
        self._writes.update({(write.task_id, write.idx): write for write in writes})

    def add(self, task_id: str, task_path: str, writes: Sequence[tuple[str, Any]]) -> None:
        """Like the server: writes of special channels replace earlier ones; for other channels the first write stays."""
        replaces = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        for position, (channel, value) in enumerate(writes):
            idx = WRITES_IDX_MAP.get(channel, position)
            if replaces or (task_id, idx) not in self._writes:
                self._writes[task_id, idx] = PlacedWrite(task_path, task_id, idx, channel, value)

    def list(self) -> list[PlacedWrite]:
        """In the order in which LangGraph applies them."""
        return sorted(self._writes.values(), key=PlacedWrite.place)
