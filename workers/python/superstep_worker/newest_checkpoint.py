"""The newest checkpoint of a thread's root and its pending writes, as one run saw them go by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, CheckpointTuple, copy_checkpoint

from .checkpoint_lines import PlacedWrite

#: By task and index.
Writes = dict[tuple[str, int], PlacedWrite]


class NewestCheckpoint:
    def __init__(self) -> None:
        self._tuple: CheckpointTuple | None = None
        # By checkpoint: LangGraph saves one after the one before it is saved, so the first writes of its tasks may
        # come earlier than itself.
        self._writes: dict[str, Writes] = {}

    def get(self) -> CheckpointTuple | None:
        """A copy, since LangGraph changes what it has loaded; its writes in the order in which LangGraph applies them."""
        if self._tuple is None:
            return None
        checkpoint = copy_checkpoint(self._tuple.checkpoint)
        writes = sorted(self._writes.get(checkpoint["id"], {}).values(), key=PlacedWrite.place)
        return self._tuple._replace(checkpoint=checkpoint, pending_writes=[write.pending() for write in writes])

    def set(self, newest: CheckpointTuple, writes: Sequence[PlacedWrite]) -> None:
        """:param writes: those that the server has"""
        checkpoint_id = newest.checkpoint["id"]
        self._tuple = newest._replace(checkpoint=copy_checkpoint(newest.checkpoint))
        self._writes = {known: writes for known, writes in self._writes.items() if known >= checkpoint_id}
        self._of(checkpoint_id).update({(write.task_id, write.idx): write for write in writes})

    def add_writes(self, checkpoint_id: str, task_id: str, task_path: str, writes: Sequence[tuple[str, Any]]) -> None:
        """As the server does it: special channels replace what was there, the others keep what came first."""
        known = self._of(checkpoint_id)
        replaces = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        for position, (channel, value) in enumerate(writes):
            idx = WRITES_IDX_MAP.get(channel, position)
            if replaces or (task_id, idx) not in known:
                known[task_id, idx] = PlacedWrite(task_path, task_id, idx, channel, value)

    def _of(self, checkpoint_id: str) -> Writes:
        return self._writes.setdefault(checkpoint_id, {})
