"""How a run stops between two super-steps of its root graph (W8)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from ..loading.graph_export import Graph


def drain_option(graph: Graph, is_draining: Callable[[], bool]) -> dict[str, Any]:
    """The option with which the graph's stream raises `GraphDrained` before the next super-step once `is_draining` returns True.
    Older versions of LangGraph do not have it, and the run goes on."""
    if "control" not in inspect.signature(graph.astream).parameters:
        return {}
    from langgraph.runtime import RunControl

    class RootControl(RunControl):
        """LangGraph passes a run's control on to the graphs that its nodes call. They would stop half way, and their node would
        execute again, so only the root graph sees the request. Its super-steps follow each other in one asyncio task, and each
        node has a task or a thread of its own."""

        __slots__ = ("_root",)

        def __init__(self) -> None:
            super().__init__()
            # Known from the first question, which the root asks before its first node starts.
            self._root: asyncio.Task[Any] | None = None

        @property
        def drain_requested(self) -> bool:
            task = _current_task()
            self._root = self._root or task
            return (task is not None and task is self._root and is_draining()) or super().drain_requested

    return {"control": RootControl()}


def is_drained(error: BaseException | None) -> bool:
    """Whether this is the error with which LangGraph ends a drained graph."""
    return type(error).__name__ == "GraphDrained"


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        # A thread without an event loop.
        return None
