"""A factory that is called for every use; the tags say for what. Making the graph takes `making_ms`."""

import asyncio
import operator
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph_sdk.runtime import ServerRuntime


class State(TypedDict, total=False):
    topic: str
    count: Annotated[int, operator.add]
    tags: list[str]


class Context(TypedDict, total=False):
    model: str


@asynccontextmanager
async def make_graph(runtime: ServerRuntime[Context], config: RunnableConfig) -> AsyncIterator[Any]:
    await asyncio.sleep(config["configurable"].get("making_ms", 0) / 1000)
    tags = [runtime.access_context, str(config["configurable"].get("graph_id"))]

    def write(state: State) -> State:
        return {"count": 1, "tags": tags}

    yield StateGraph(State, context_schema=Context).add_node(write).add_edge(START, "write")
