from typing import TypedDict

from langgraph.graph import START, StateGraph


class State(TypedDict):
    x: int


def boom(state: State) -> State:
    raise TypeError("node exploded")


graph = (
    StateGraph(State)
    .add_node("ok", lambda state: {"x": state["x"] + 1})
    .add_node(boom)
    .add_edge(START, "ok")
    .add_edge("ok", "boom")
    .compile()
)
