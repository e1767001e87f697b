"""Checkpoints as clients see them: references, and the payloads of `checkpoints` and `debug` events. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def checkpoint_ref(config: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """@see agent-server API §2.5"""
    if config is None or "configurable" not in config:
        return None
    configurable = config["configurable"]
    return {
        "thread_id": configurable.get("thread_id"),
        "checkpoint_id": configurable.get("checkpoint_id"),
        "checkpoint_ns": configurable.get("checkpoint_ns") or "",
        "checkpoint_map": configurable.get("checkpoint_map"),
    }


def checkpoint_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The full form of a checkpoint event: without LangGraph's internals, and with a reference for a subgraph's config.

    @see agent-server API §7.7
    """
    parent = payload.get("parent_config")
    return {
        **payload,
        "config": _public(payload.get("config")),
        "parent_config": _public(parent),
        "tasks": [_task(task) for task in payload.get("tasks", ())],
        "checkpoint": checkpoint_ref(payload.get("config")),
        "parent_checkpoint": checkpoint_ref(parent),
    }


def debug_payload(event: Mapping[str, Any]) -> dict[str, Any]:
    """A `debug` event: its payload is a checkpoint's or a task's."""
    if event.get("type") != "checkpoint":
        return dict(event)
    return {**event, "payload": checkpoint_payload(event["payload"])}


def _task(task: Mapping[str, Any]) -> Mapping[str, Any]:
    state = task.get("state")
    if not isinstance(state, Mapping) or "configurable" not in state:
        return task
    rest = {name: value for name, value in task.items() if name != "state"}
    return {**rest, "checkpoint": checkpoint_ref(state)}


def _public(config: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if config is None:
        return None
    configurable = {name: value for name, value in config.get("configurable", {}).items() if not name.startswith("__")}
    rest = {name: value for name, value in config.items() if name != "callbacks"}
    return {**rest, "configurable": configurable}
