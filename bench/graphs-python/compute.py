"""A node that computes a fixed amount and blocks its process meanwhile, so the time of a run depends on how much of a processor it
gets."""

import os
from typing import TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    rounds: int
    result: int
    pid: int


async def compute(state: State) -> State:
    result = 0
    for number in range(state["rounds"]):
        result = (result * 31 + number) % 1_000_003
    return {"result": result, "pid": os.getpid()}


graph = StateGraph(State).add_node(compute).add_edge(START, "compute").add_edge("compute", END).compile()
