"""A checkpoint as the server stores it: its pending writes have their places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from langgraph.checkpoint.base import WRITES_IDX_MAP, CheckpointTuple, PendingWrite

#: Writes that record what happened to a task. Every other write is output, also the marker of a task without output.
_control_channels = frozenset(("__error__", "__error_source_node__", "__interrupt__", "__resume__"))


class PlacedWrite(NamedTuple):
    """A pending write with its place."""

    task_path: str
    task_id: str
    idx: int
    channel: str
    value: Any

    def place(self) -> tuple[str, str, int]:
        return self.task_path, self.task_id, self.idx

    def pending(self) -> PendingWrite:
        return self.task_id, self.channel, self.value


class PlacedCheckpoint(NamedTuple):
    """A checkpoint and the places of its pending writes."""

    tuple: CheckpointTuple
    writes: list[PlacedWrite]

    @staticmethod
    def of(found: CheckpointTuple, writes: list[PlacedWrite]) -> PlacedCheckpoint:
        return PlacedCheckpoint(found._replace(pending_writes=[write.pending() for write in writes]), writes)


class PendingWrites:
    """The pending writes of one checkpoint, stored under the server's rules."""

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


# The task of the writes of a command.
_null_task = "00000000-0000-0000-0000-000000000000"


def for_graph(found: CheckpointTuple) -> CheckpointTuple:
    """The checkpoint as LangGraph gets it. Without the interrupts of finished tasks: while another task of the step still waits,
    LangGraph keeps all writes of the step, including the answered interrupt. And without the answer of an earlier command: its
    task keeps it with its own writes, and LangGraph would also give it to the next question that nobody has answered."""
    writes = [write for write in found.pending_writes or [] if write[:2] != (_null_task, "__resume__")]
    finished = {task_id for task_id, channel, _ in writes if channel not in _control_channels}
    kept = [write for write in writes if write[1] != "__interrupt__" or write[0] not in finished]
    return found._replace(pending_writes=kept)
