"""A node that computes a fixed amount, so its time depends on how much of a processor it gets."""

from typing import TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    rounds: int
    result: int


def compute(state: State) -> State:
    result = 0
    for number in range(state["rounds"]):
        result = (result * 31 + number) % 1_000_003
    return {"result": result}


graph = StateGraph(State).add_node(compute).add_edge(START, "compute").add_edge("compute", END).compile()
