"""A node whose work raises an error with a message that cannot be read. With `caught`, the node goes on."""

from typing import Any, TypedDict

from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, StateGraph


class Unreadable(Exception):
    def __str__(self) -> str:
        raise TypeError("this error has no message")


class State(TypedDict):
    caught: bool


def fail(_: Any) -> None:
    raise Unreadable


failing = RunnableLambda(fail, name="failing")


async def call(state: State) -> dict[str, bool]:
    try:
        await failing.ainvoke({})
    except Unreadable:
        if not state["caught"]:
            raise
    return {}


graph = StateGraph(State).add_node(call).add_edge(START, "call").compile()
