"""Work whose input has a number of very many digits, and an object with its fields in slots."""

from dataclasses import dataclass
from typing import Any, TypedDict

from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, StateGraph


class State(TypedDict):
    n: int


@dataclass(slots=True)
class Wide:
    items: list[str]


wide: RunnableLambda[Any, str] = RunnableLambda(lambda _: "done", name="wide")


async def work(state: State) -> dict[str, Any]:
    await wide.ainvoke({"large": 10**20_000, "value": Wide([f"item {n}" for n in range(2_000)])})
    return {}


graph = StateGraph(State).add_node(work).add_edge(START, "work").compile()
