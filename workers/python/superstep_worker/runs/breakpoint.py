"""Whether a thread is stopped at a breakpoint from which no run has continued. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple


def stands_before(head: CheckpointTuple, following: Sequence[str], nodes: str | Sequence[str] | None) -> bool:
    """LangGraph treats a run without input as a request to continue from a breakpoint. That is right for a new run, but a
    repeated attempt must stop where the previous one stopped; else a node would run before a person has checked it.

    :param following: the nodes that would run
    :param nodes: the nodes to stop before, or `*`
    """
    if not nodes or not any(nodes == "*" or node in nodes for node in following):
        return False
    versions, seen = head.checkpoint["channel_versions"], head.checkpoint["versions_seen"]
    known: dict[str, Any] = seen.get("__interrupt__", {})
    return any(channel not in known or version > known[channel] for channel, version in versions.items())
