"""A snapshot of LangGraph as the wire's ThreadState (agent-server API §2.6). Pure."""

from __future__ import annotations

from typing import Any

from langgraph.types import PregelTask, StateSnapshot

from .checkpoint_payload import checkpoint_ref
from .serialise import serialise


def thread_state(snapshot: StateSnapshot) -> dict[str, Any]:
    # Without a checkpoint LangGraph echoes the question's config; clients see that there is none.
    is_empty = snapshot.created_at is None
    return {
        "values": snapshot.values,
        "next": snapshot.next,
        "tasks": [_task_state(task) for task in snapshot.tasks],
        **({} if snapshot.metadata is None else {"metadata": snapshot.metadata}),
        "created_at": snapshot.created_at,
        "checkpoint": None if is_empty else checkpoint_ref(snapshot.config),
        "parent_checkpoint": checkpoint_ref(snapshot.parent_config),
        "interrupts": [interrupt for task in snapshot.tasks for interrupt in task.interrupts],
    }


def open_interrupts(snapshot: StateSnapshot) -> dict[str, Any]:
    """The open questions by the task that asked, only of tasks that did (agent-server API §2.4)."""
    return {task.id: task.interrupts for task in snapshot.tasks if task.interrupts}


def _task_state(task: PregelTask) -> dict[str, Any]:
    is_snapshot = isinstance(task.state, StateSnapshot)
    return {
        "id": task.id,
        "name": task.name,
        "error": task.error if task.error is None or isinstance(task.error, str) else serialise(task.error),
        "interrupts": task.interrupts,
        "path": task.path,
        "checkpoint": None if is_snapshot else checkpoint_ref(task.state),  # type: ignore[arg-type]
        "state": thread_state(task.state) if is_snapshot else None,  # type: ignore[arg-type]
        "result": task.result,
    }
