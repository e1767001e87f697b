"""Holds the event loop of its worker forever."""

from typing import TypedDict

from langgraph.graph import START, StateGraph


class State(TypedDict):
    n: int


async def burn(state: State) -> State:
    print("the graph burns")
    while True:
        pass


graph = StateGraph(State).add_node(burn).add_edge(START, "burn").compile()
