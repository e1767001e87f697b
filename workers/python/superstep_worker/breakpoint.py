"""Whether a thread stands at a breakpoint that nobody has gone on from. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple


def stands_before(head: CheckpointTuple, following: Sequence[str], nodes: str | Sequence[str] | None) -> bool:
    """LangGraph takes a run without input as the wish to go on from a breakpoint. That is right for a new run; a
    repeated attempt must stop where the one before it stopped, else a node runs that a person was to look at first.

    :param following: the nodes that would run
    :param nodes: those to stop before, or `*`
    """
    if not nodes or not any(nodes == "*" or node in nodes for node in following):
        return False
    versions, seen = head.checkpoint["channel_versions"], head.checkpoint["versions_seen"]
    known: dict[str, Any] = seen.get("__interrupt__", {})
    return any(channel not in known or version > known[channel] for channel, version in versions.items())
