"""What a project may export as a graph, and how it becomes a compiled one."""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

from .factory import Purpose, call_factory

Graph = Pregel[Any, Any, Any, Any]


def check_export(exported: Any, origin: str) -> Any:
    """Accepts a compiled graph, an uncompiled one, or a function that makes one; a function's result is checked when
    it is called.

    :raises TypeError: describing what was exported instead
    """
    if isinstance(exported, (Pregel, StateGraph)):
        return _compiled(exported, origin)
    if is_factory(exported):
        return exported
    raise TypeError(f"{origin} is not a graph but {_described(exported)}: {_wanted}")


def is_factory(exported: Any) -> bool:
    """Whether the graph is made anew for each use."""
    return inspect.isroutine(exported) or isinstance(exported, partial)


@asynccontextmanager
async def graph_for(exported: Any, origin: str, config: RunnableConfig, purpose: Purpose) -> AsyncIterator[Graph]:
    """The graph for one use. A factory's result may be awaitable, or a context manager that is entered while the graph is
    used."""
    if not is_factory(exported):
        yield exported
        return
    made = call_factory(exported, config, purpose)
    if inspect.isawaitable(made):
        made = await made
    if isinstance(made, AbstractAsyncContextManager):
        async with made as graph:
            yield _compiled(graph, f"the result of {origin}")
    elif isinstance(made, AbstractContextManager):
        with made as graph:
            yield _compiled(graph, f"the result of {origin}")
    else:
        yield _compiled(made, f"the result of {origin}")


def with_persistence(graph: Graph, checkpointer: BaseCheckpointSaver[Any], store: BaseStore) -> Graph:
    """A copy that shares everything but its checkpointer and store. The graph itself is shared by concurrent runs and
    is never changed."""
    own = copy.copy(graph)
    own.checkpointer = checkpointer
    own.store = store
    # Without it LangGraph sends the events of a single node only after the checkpoint that they led to (W2).
    own.stream_eager = True
    return own


_wanted = "export a compiled graph, a StateGraph, or a function that makes one"


def _compiled(value: Any, origin: str) -> Graph:
    if isinstance(value, Pregel):
        return value
    if isinstance(value, StateGraph):
        return value.compile()
    raise TypeError(f"{origin} is not a graph but {_described(value)}: {_wanted}")


def _described(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
