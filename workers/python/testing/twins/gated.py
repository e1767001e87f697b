"""Each node reports its start. Two of them continue when the file `gate` exists: one here, one in a subgraph."""

import asyncio
import operator
import os
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def node(name: str) -> Any:
    def begin(state: State) -> State:
        get_stream_writer()({"began": name})
        return {"log": [name]}

    return begin


def gated(name: str) -> Any:
    async def begin(state: State, config: RunnableConfig) -> State:
        get_stream_writer()({"began": name})
        while not os.path.exists(f"{config['configurable']['gate']}.{name}"):
            await asyncio.sleep(0.005)
        return {"log": [name]}

    return begin


sub = (
    StateGraph(State)
    .add_node("inner", gated("inner"))
    .add_node("innermost", node("innermost"))
    .add_edge(START, "inner")
    .add_edge("inner", "innermost")
    .compile()
)


async def second(state: State, config: RunnableConfig) -> State:
    """A node that calls a graph: it would begin again if that one ended half way."""
    get_stream_writer()({"began": "second"})
    made = await sub.ainvoke({"log": []}, config)
    return {"log": ["second", *made["log"]]}


graph = (
    StateGraph(State)
    .add_node("first", gated("first"))
    .add_node(second)
    .add_node("third", node("third"))
    .add_edge(START, "first")
    .add_edge("first", "second")
    .add_edge("second", "third")
    .compile()
)
