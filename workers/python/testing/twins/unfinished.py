"""A node that begins work nobody waits for: it has not ended when the run does."""

import asyncio
from typing import Any, TypedDict

from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, StateGraph


class State(TypedDict):
    n: int


async def wait(_: Any) -> None:
    await asyncio.sleep(60)


waiting = RunnableLambda(wait, name="waiting")
tasks: set[asyncio.Task[Any]] = set()


async def begin(state: State) -> State:
    tasks.add(asyncio.create_task(waiting.ainvoke({})))
    # It begins, and its callback is called.
    await asyncio.sleep(0.01)
    return {"n": 1}


graph = StateGraph(State).add_node(begin).add_edge(START, "begin").compile()
