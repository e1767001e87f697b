"""A graph in a graph, and two nodes in one step."""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    log: Annotated[list[str], operator.add]


inner = (
    StateGraph(State)
    .add_node("inside", lambda state: {"log": ["inside"]})
    .add_edge(START, "inside")
    .add_edge("inside", END)
    .compile()
)


async def sub(state: State) -> State:
    return {"log": (await inner.ainvoke({"log": []}))["log"]}


graph = (
    StateGraph(State)
    .add_node("left", lambda state: {"log": ["left"]})
    .add_node("right", lambda state: {"log": ["right"]})
    .add_node(sub)
    .add_edge(START, "left")
    .add_edge(START, "right")
    .add_edge(["left", "right"], "sub")
    .add_edge("sub", END)
    .compile()
)
