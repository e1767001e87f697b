"""Does `count` pieces of work, each with 8,000 characters that go in and come out."""

from typing import Any, TypedDict

from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, StateGraph


class State(TypedDict):
    count: int


same: RunnableLambda[str, str] = RunnableLambda(lambda text: text)


async def work(state: State) -> dict[str, Any]:
    for _ in range(state["count"]):
        await same.ainvoke("x" * 8_000)
    return {}


graph = StateGraph(State).add_node(work).add_edge(START, "work").compile()
