"""The newest checkpoint of a thread's root and its pending writes, as one run saw them go by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, CheckpointTuple, PendingWrite, copy_checkpoint

#: By task and index.
Writes = dict[tuple[str, int], PendingWrite]


class NewestCheckpoint:
    def __init__(self) -> None:
        self._tuple: CheckpointTuple | None = None
        # By checkpoint: LangGraph saves one after the one before it is saved, so the first writes of its tasks may
        # come earlier than itself.
        self._writes: dict[str, Writes] = {}

    def get(self) -> CheckpointTuple | None:
        """A copy, since LangGraph changes what it has loaded."""
        if self._tuple is None:
            return None
        checkpoint = copy_checkpoint(self._tuple.checkpoint)
        writes = list(self._writes.get(checkpoint["id"], {}).values())
        return self._tuple._replace(checkpoint=checkpoint, pending_writes=writes)

    def set(self, newest: CheckpointTuple) -> None:
        checkpoint_id = newest.checkpoint["id"]
        self._tuple = newest._replace(checkpoint=copy_checkpoint(newest.checkpoint))
        self._writes = {known: writes for known, writes in self._writes.items() if known >= checkpoint_id}
        counts: Counter[str] = Counter()
        for write in newest.pending_writes or []:
            task_id, channel, _ = write
            self._of(checkpoint_id)[task_id, WRITES_IDX_MAP.get(channel, counts[task_id])] = write
            counts[task_id] += 1

    def add_writes(self, checkpoint_id: str, task_id: str, writes: Sequence[tuple[str, Any]]) -> None:
        """As the server does it: special channels replace what was there, the others keep what came first."""
        known = self._of(checkpoint_id)
        replaces = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        for position, (channel, value) in enumerate(writes):
            key = task_id, WRITES_IDX_MAP.get(channel, position)
            if replaces or key not in known:
                known[key] = (task_id, channel, value)

    def _of(self, checkpoint_id: str) -> Writes:
        return self._writes.setdefault(checkpoint_id, {})
