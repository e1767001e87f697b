"""Each node reports its start. Two of them continue when the file `gate` exists: one here, one in a subgraph."""

import asyncio
import operator
import os
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def node(name: str) -> Any:
    def begin(state: State) -> State:
        get_stream_writer()({"began": name})
        return {"log": [name]}

    return begin


def gated(name: str) -> Any:
    async def begin(state: State, config: RunnableConfig) -> State:
        get_stream_writer()({"began": name})
        while not os.path.exists(f"{config['configurable']['gate']}.{name}"):
            await asyncio.sleep(0.005)
        return {"log": [name]}

    return begin


sub = (
    StateGraph(State)
    .add_node("inner", gated("inner"))
    .add_node("innermost", node("innermost"))
    .add_edge(START, "inner")
    .add_edge("inner", "innermost")
    .compile()
)


async def second(state: State, config: RunnableConfig) -> State:
    """A node that calls a graph: it would begin again if that one ended half way."""
    get_stream_writer()({"began": "second"})
    made = await sub.ainvoke({"log": []}, config)
    return {"log": ["second", *made["log"]]}


graph = (
    StateGraph(State)
    .add_node("first", gated("first"))
    .add_node(second)
    .add_node("third", node("third"))
    .add_edge(START, "first")
    .add_edge("first", "second")
    .add_edge("second", "third")
    .compile()
)


class Question(TypedDict):
    question: str
    answer: str


class Round(Question):
    log: Annotated[list[str], operator.add]


async def ask(state: Round, config: RunnableConfig) -> dict[str, Any]:
    """Waits for the gate of its round."""
    name = f"round {len(state['log'])}"
    await gated(name)(state, config)
    return {"question": name}


#: A subgraph that keeps its own checkpoints from round to round, as a subagent with a memory does.
answering = (
    StateGraph(Question)
    .add_node("reply", lambda state: {"answer": f"reply to {state['question']}"})
    .add_edge(START, "reply")
    .compile(checkpointer=True)
)

#: Two rounds in each run.
rounds = (
    StateGraph(Round)
    .add_node(ask)
    .add_node("sub", answering)
    .add_node("note", lambda state: {"log": [state["answer"]]})
    .add_edge(START, "ask")
    .add_edge("ask", "sub")
    .add_edge("sub", "note")
    .add_conditional_edges("note", lambda state: "ask" if len(state["log"]) % 2 else END, ["ask", END])
    .compile()
)
