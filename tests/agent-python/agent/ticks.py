"""Goes on for as many steps as it is told, one event a step: something to be in the middle of."""

import asyncio
import operator
from typing import Annotated, TypedDict

from langgraph.config import get_store, get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from version import version


class State(TypedDict, total=False):
    count: int
    # Steps to make, and milliseconds between them.
    steps: int
    everyMs: int
    # A key in the store's namespace `tests`; the run ends when its item is there, before it has made all steps.
    untilItem: str
    log: Annotated[list[int], operator.add]


async def tick(state: State) -> Command:
    count = state.get("count", 0)
    await asyncio.sleep(state["everyMs"] / 1000)
    get_stream_writer()({"tick": count, "version": version})
    key = state.get("untilItem")
    is_told_to_end = key is not None and await get_store().aget(("tests",), key) is not None
    is_over = count + 1 >= state["steps"] or is_told_to_end
    return Command(update={"count": count + 1, "log": [count]}, goto=END if is_over else "tick")


graph = StateGraph(State).add_node(tick, destinations=("tick", END)).add_edge(START, "tick").compile()
