"""The newest checkpoint of a thread's root and its pending writes, as recorded by one run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple, copy_checkpoint

from .saved_checkpoint import PendingWrites, PlacedCheckpoint, PlacedWrite


class NewestCheckpoint:
    def __init__(self) -> None:
        self._tuple: CheckpointTuple | None = None
        # By checkpoint: LangGraph saves a checkpoint only after the previous one is saved, so the first writes of its
        # tasks may come before the checkpoint.
        self._writes: dict[str, PendingWrites] = {}

    def get(self) -> PlacedCheckpoint | None:
        """A copy, since LangGraph changes what it has loaded."""
        if self._tuple is None:
            return None
        checkpoint = copy_checkpoint(self._tuple.checkpoint)
        return PlacedCheckpoint.of(self._tuple._replace(checkpoint=checkpoint), self._of(checkpoint["id"]).list())

    def set(self, newest: CheckpointTuple, writes: Sequence[PlacedWrite]) -> None:
        """:param writes: the pending writes that the server has"""
        checkpoint_id = newest.checkpoint["id"]
        former = None if self._tuple is None else self._tuple.checkpoint["id"]
        self._tuple = newest._replace(checkpoint=copy_checkpoint(newest.checkpoint))
        # Not every lower id: ids come from a clock, which may be set back.
        if former is not None and former != checkpoint_id:
            self._writes.pop(former, None)
        self._of(checkpoint_id).load(writes)

    def add_writes(self, checkpoint_id: str, task_id: str, task_path: str, writes: Sequence[tuple[str, Any]]) -> None:
        self._of(checkpoint_id).add(task_id, task_path, writes)

    def _of(self, checkpoint_id: str) -> PendingWrites:
        return self._writes.setdefault(checkpoint_id, PendingWrites())
