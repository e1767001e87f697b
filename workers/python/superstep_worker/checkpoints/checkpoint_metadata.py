"""The metadata that a checkpoint stores about the run that made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig

# LangGraph's internal values: of the running node, valid only while it runs; and of the checkpoint's delta channels.
_not_kept = {
    "counters_since_delta_snapshot",
    "delta_writes_versioned",
    "checkpoint_id",
    "checkpoint_ns",
    "checkpoint_map",
    "langgraph_checkpoint_ns",
    "langgraph_node",
    "langgraph_path",
    "langgraph_step",
    "langgraph_triggers",
}


def checkpoint_metadata(config: RunnableConfig, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The run's scalar configurable values and its config's metadata, then LangGraph's own `source`, `step`, `parents`.
    By `run_id` a repeated attempt sees that its input is already applied (architecture D7)."""
    configurable = config.get("configurable", {})
    kept = {key: value for key, value in configurable.items() if _is_public(key) and _is_scalar(value)}
    own = {key: value for key, value in (config.get("metadata") or {}).items() if _is_public(key)}
    return {**kept, **own, **metadata}


def _is_public(key: str) -> bool:
    return not key.startswith("__") and key not in _not_kept


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, bool, int, float))
