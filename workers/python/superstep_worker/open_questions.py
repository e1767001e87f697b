"""Which questions of a checkpoint still wait for an answer."""

from __future__ import annotations

from langgraph.checkpoint.base import CheckpointTuple

#: Writes that say what happened to a task. Every other write is its output, also the mark of a task that has none.
_control_channels = frozenset(("__error__", "__error_source_node__", "__interrupt__", "__resume__"))


def without_answered(found: CheckpointTuple) -> CheckpointTuple:
    """The checkpoint without the questions of tasks that have finished. While another task of the step still waits,
    LangGraph keeps all writes of the step, the answered question too."""
    writes = found.pending_writes or []
    finished = {task_id for task_id, channel, _ in writes if channel not in _control_channels}
    kept = [write for write in writes if write[1] != "__interrupt__" or write[0] not in finished]
    return found._replace(pending_writes=kept)
