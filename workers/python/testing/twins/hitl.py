import asyncio
import operator
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt


def text(answer: Any) -> str:
    """The text of an answer in JavaScript."""
    if isinstance(answer, dict):
        return "[object Object]"
    return "null" if answer is None else str(answer).lower() if isinstance(answer, bool) else str(answer)


class State(TypedDict):
    x: int
    y: str


graph = (
    StateGraph(State)
    .add_node("ask", lambda state: {"y": text(interrupt({"question": "continue?"}))})
    .add_node("after", lambda state: {"x": state["x"] + len(state["y"])})
    .add_edge(START, "ask")
    .add_edge("ask", "after")
    .compile()
)


class Outages(TypedDict):
    interrupts: list[str]
    seen: str


def report(state: Outages) -> dict[str, Any]:
    get_stream_writer()({"payload": {"interrupts": ["power"]}})
    return {"interrupts": ["power"]}


#: Its state has a key that is not about questions.
outages = (
    StateGraph(Outages)
    .add_node(report)
    .add_node("watch", lambda state: {"seen": "all"})
    .add_edge(START, "report")
    .add_edge("report", "watch")
    .compile()
)


class Answers(TypedDict):
    out: Annotated[list[str], operator.add]


def ask(name: str) -> Any:
    return lambda state: {"out": [f"{name}:{text(interrupt({'q': f'{name}?'}))}"]}


two = (
    StateGraph(Answers)
    .add_node("a", ask("a"))
    .add_node("b", ask("b"))
    .add_edge(START, "a")
    .add_edge(START, "b")
    .compile()
)

#: Two questions of one node.
twice = (
    StateGraph(Answers)
    .add_node("ask", lambda state: {"out": [f"{interrupt({'q': 'first?'})}, {interrupt({'q': 'second?'})}"]})
    .add_edge(START, "ask")
    .compile()
)

#: Two questions, one after the other.
chain = (
    StateGraph(Answers)
    .add_node("a", ask("a"))
    .add_node("b", ask("b"))
    .add_edge(START, "a")
    .add_edge("a", "b")
    .compile()
)


async def pause(state: Answers, config: RunnableConfig) -> Answers:
    get_stream_writer()({"began": "pause"})
    await asyncio.sleep(config["configurable"]["pause_ms"] / 1000)
    return {"out": ["pause"]}


#: A graph of a graph with two questions, and a pause between them.
deep_chain = (
    StateGraph(Answers)
    .add_node(
        "sub",
        StateGraph(Answers)
        .add_node("a", ask("a"))
        .add_node(pause)
        .add_node("b", ask("b"))
        .add_edge(START, "a")
        .add_edge("a", "pause")
        .add_edge("pause", "b")
        .compile(),
    )
    .add_edge(START, "sub")
    .compile()
)


async def fail(state: Answers) -> Answers:
    await asyncio.sleep(0.1)
    raise TypeError("node exploded")


#: One node asks while another one fails.
half = (
    StateGraph(Answers)
    .add_node("ask", lambda state: {"out": [f"{interrupt({'q': 'go on?'})}"]})
    .add_node(fail)
    .add_edge(START, "ask")
    .add_edge(START, "fail")
    .compile()
)

#: The question is asked in a graph of a graph.
deep = StateGraph(State).add_node("sub", graph).add_edge(START, "sub").compile()
