"""Stops at a question between two nodes; the answer goes into the state once."""

import asyncio
import operator
from typing import Annotated, Any, TypedDict

from effect import tell
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt


class State(TypedDict, total=False):
    task: dict[str, Any]
    count: Annotated[int, operator.add]
    messages: Annotated[list[str], operator.add]


async def before(state: State, config: RunnableConfig) -> State:
    return await work(state["task"], config, "before")


def ask(state: State, config: RunnableConfig) -> State:
    tell(config, "ask")
    return {"count": 1, "messages": [f"{state['task']['name']}:{interrupt('how does it go on?')}"]}


async def after(state: State, config: RunnableConfig) -> State:
    return await work(state["task"], config, "after")


async def work(task: dict[str, Any], config: RunnableConfig, name: str) -> State:
    tell(config, name)
    await asyncio.sleep(task["stepMs"] / 1000)
    return {"count": 1, "messages": [f"{task['name']}:{name}"]}


graph = (
    StateGraph(State)
    .add_node(before)
    .add_node(ask)
    .add_node(after)
    .add_edge(START, "before")
    .add_edge("before", "ask")
    .add_edge("ask", "after")
    .add_edge("after", END)
    .compile()
)
