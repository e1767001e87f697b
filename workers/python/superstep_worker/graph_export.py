"""What a project may export as a graph, and how it becomes a compiled one."""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

Graph = Pregel[Any, Any, Any, Any]


def check_export(exported: Any, origin: str) -> Any:
    """A compiled graph, one that is not compiled yet, or a function that makes one; what a function makes is seen
    when it is called.

    :raises TypeError: saying what was found instead
    """
    if isinstance(exported, (Pregel, StateGraph)):
        return _compiled(exported, origin)
    if inspect.isroutine(exported):
        return exported
    raise TypeError(f"{origin} is not a graph but {_described(exported)}: {_wanted}")


@asynccontextmanager
async def graph_for(exported: Any, origin: str, config: RunnableConfig) -> AsyncIterator[Graph]:
    """The graph for one use. A factory gets the config if it takes one; what it returns may be awaited, and entered
    as a context for as long as the use lasts."""
    if not inspect.isroutine(exported):
        yield exported
        return
    made = exported(config) if inspect.signature(exported).parameters else exported()
    if inspect.isawaitable(made):
        made = await made
    if isinstance(made, AbstractAsyncContextManager):
        async with made as graph:
            yield _compiled(graph, f"what {origin} made")
    elif isinstance(made, AbstractContextManager):
        with made as graph:
            yield _compiled(graph, f"what {origin} made")
    else:
        yield _compiled(made, f"what {origin} made")


def with_persistence(graph: Graph, checkpointer: BaseCheckpointSaver[Any], store: BaseStore) -> Graph:
    """A copy that shares everything but its checkpointer and store. The graph itself is shared by concurrent runs and
    is never changed."""
    own = copy.copy(graph)
    own.checkpointer = checkpointer
    own.store = store
    # Without it LangGraph hands the events of a single node over only after the checkpoint that they led to (W2).
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
