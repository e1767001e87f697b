"""Graphs with numbers and interrupts: equal to those of `tests/graphs`, as far as the recorded conversations need them."""

import asyncio
import operator
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send, interrupt
from pydantic import BaseModel


class Number(TypedDict):
    n: int


def plus(state: Number) -> Number:
    return {"n": state["n"] + 1}


#: Not compiled.
builder = StateGraph(Number).add_node(plus).add_edge(START, "plus").add_edge("plus", END)


class Question(TypedDict):
    x: int
    y: str


def ask(state: Question) -> dict[str, str]:
    answer = interrupt({"question": "continue?"})
    return {"y": str(answer).lower()}


def after(state: Question) -> dict[str, int]:
    return {"x": state["x"] + len(state["y"])}


hitl = StateGraph(Question).add_node(ask).add_node(after).add_edge(START, "ask").add_edge("ask", "after").compile()


def ask_twice(state: Question) -> dict[str, str]:
    return {"y": f"{interrupt({'q': 'first?'})}, {interrupt({'q': 'second?'})}"}


#: Two interrupts of one node.
twice = StateGraph(Question).add_node(ask_twice).add_edge(START, "ask_twice").compile()


class Answers(TypedDict):
    out: Annotated[list[str], operator.add]


def ask_a(state: Answers) -> dict[str, list[str]]:
    return {"out": [f"a:{interrupt({'q': 'a?'})}"]}


def ask_b(state: Answers) -> dict[str, list[str]]:
    return {"out": [f"b:{interrupt({'q': 'b?'})}"]}


#: Two parallel interrupts.
pair = StateGraph(Answers).add_node(ask_a).add_node(ask_b).add_edge(START, "ask_a").add_edge(START, "ask_b").compile()


async def fail(state: Answers) -> dict[str, list[str]]:
    await asyncio.sleep(0.1)
    raise TypeError("node exploded")


#: One node is interrupted while another one fails.
half = StateGraph(Answers).add_node(ask_a).add_node(fail).add_edge(START, "ask_a").add_edge(START, "fail").compile()


class Choice(BaseModel):
    n: int


def ask_how_many(state: Answers) -> dict[str, list[str]]:
    return {"out": [str(interrupt({"q": "how many?"}, response_schema=Choice).n)]}


#: An interrupt with a schema for its answer.
choice = StateGraph(Answers).add_node("ask", ask_how_many).add_edge(START, "ask").compile()


async def tick(state: Number, config: RunnableConfig) -> Number:
    get_stream_writer()({"tick": state["n"]})
    await asyncio.sleep(config["configurable"].get("tick_ms", 400) / 1000)
    return {"n": state["n"] + 1}


#: Five steps of `configurable.tick_ms` each.
slow = (
    StateGraph(Number)
    .add_node(tick)
    .add_edge(START, "tick")
    .add_conditional_edges("tick", lambda state: "tick" if state["n"] < 5 else END, ["tick", END])
    .compile()
)


async def make_graph(config: RunnableConfig) -> StateGraph[Number]:
    """Adds the number of its config."""
    step = config["configurable"].get("step", 10)
    graph = StateGraph(Number)
    graph.add_node("plus", lambda state: {"n": state["n"] + step})
    graph.add_edge(START, "plus")
    return graph


class Steps(TypedDict):
    steps: Annotated[list[str], operator.add]


def make_named(config: RunnableConfig) -> StateGraph[Steps]:
    """Has a node with the name of its config."""
    name = config["configurable"].get("node", "unnamed")
    graph = StateGraph(Steps).add_node(name, lambda state: {"steps": [name]})
    graph.add_node("after", lambda state: {"steps": ["after"]})
    return graph.add_edge(START, name).add_edge(name, "after")


class Sums(TypedDict):
    sums: Annotated[list[int], operator.add]


def one(state: Number) -> dict[str, list[int]]:
    return {"sums": [state["n"]]}


#: A hundred parallel tasks, each with a subgraph.
wide = (
    StateGraph(Sums)
    .add_node("one", StateGraph(Number, output_schema=Sums).add_node(one).add_edge(START, "one").compile())
    .add_conditional_edges(START, lambda state: [Send("one", {"n": n}) for n in range(100)], ["one"])
    .compile()
)
