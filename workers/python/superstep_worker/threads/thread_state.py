"""Converts LangGraph's snapshot to the wire's ThreadState (agent-server API §2.6). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.types import PregelTask, StateSnapshot

from ..checkpoints.checkpoint_payload import checkpoint_ref
from ..values.serialise import serialise


def thread_state(snapshot: StateSnapshot) -> dict[str, Any]:
    # Without a checkpoint LangGraph returns the given config; clients must see that there is no checkpoint.
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


def starting_state(state: dict[str, Any], run_id: str | None) -> dict[str, Any]:
    """The state of a thread on which a run will start: its input checkpoint would say the same.

    :param run_id: None: no run starts
    """
    if run_id is None or state["next"] or state["tasks"]:
        return state
    task = {
        "id": run_id,
        "name": "__start__",
        "path": ["__pregel_pull", "__start__"],
        "error": None,
        "interrupts": [],
        "checkpoint": None,
        "state": None,
        "result": None,
    }
    return {**state, "next": ["__start__"], "tasks": [task]}


def selected(state: dict[str, Any], select: Sequence[str] | None) -> dict[str, Any]:
    """Selects fields of a ThreadState; `values.x` selects one value, and has no effect together with `values`.

    :param select: None: all fields
    """
    if select is None:
        return state
    fields = {field: value for field, value in state.items() if field in select}
    keys = {each.removeprefix("values.") for each in select if each.startswith("values.")}
    values = state["values"]
    if not keys or "values" in select or not isinstance(values, dict):
        return fields
    return {"values": {key: value for key, value in values.items() if key in keys}, **fields}


def open_interrupts(snapshot: StateSnapshot) -> dict[str, Any]:
    """The open interrupts by task, only for tasks that have some (agent-server API §2.4)."""
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
