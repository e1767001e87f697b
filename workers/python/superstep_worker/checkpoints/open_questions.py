"""Which interrupts of a checkpoint still wait for an answer."""

from __future__ import annotations

from langgraph.checkpoint.base import CheckpointTuple

#: Writes that record what happened to a task. Every other write is output, also the marker of a task without output.
_control_channels = frozenset(("__error__", "__error_source_node__", "__interrupt__", "__resume__"))


def without_answered(found: CheckpointTuple) -> CheckpointTuple:
    """The checkpoint without the interrupts of finished tasks. While another task of the step still waits, LangGraph
    keeps all writes of the step, including the answered interrupt."""
    writes = found.pending_writes or []
    finished = {task_id for task_id, channel, _ in writes if channel not in _control_channels}
    kept = [write for write in writes if write[1] != "__interrupt__" or write[0] not in finished]
    return found._replace(pending_writes=kept)
