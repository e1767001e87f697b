"""Each node appends one id, `<task>/<super-step>#<attempt>`, so that the state says what was executed, in which order and by which attempt. With `asks`
it then waits for an answer, which names the run that gives it. An update as the node `note` leaves nothing to do."""

import asyncio
import operator
from typing import Annotated, Any, TypedDict

import clock  # noqa: F401
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt


class State(TypedDict, total=False):
    task: dict[str, Any]
    at: int
    # Changes in every other super-step: a checkpoint between two of them relies on what an earlier one has saved.
    even: int
    log: Annotated[list[str], operator.add]
    # Numbers that clients send and read again.
    carried: Annotated[list[dict[str, Any]], operator.add]


async def work(state: State, config: RunnableConfig) -> State:
    task, at = state["task"], state["at"]
    await asyncio.sleep(task["stepMs"] / 1000)
    changed: State = {"at": at + 1, "log": [f"{task['name']}/{at}#{config['metadata']['run_attempt']}"]}
    return changed if at % 2 else {**changed, "even": at}


async def ask(state: State, config: RunnableConfig) -> State:
    task = state["task"]
    answer = interrupt({"task": task["name"]})
    await asyncio.sleep(task["stepMs"] / 1000)
    # `run.start` answers with its whole input.
    name = answer if isinstance(answer, str) else answer["task"]["name"]
    return {"log": [f"{name}/answer#{config['metadata']['run_attempt']}"]}


def after(state: State) -> str:
    task = state["task"]
    return "work" if state["at"] < task["steps"] else "ask" if task["asks"] else END


graph = (
    StateGraph(State)
    .add_node(work)
    .add_node(ask)
    .add_node("note", lambda _: {})
    .add_conditional_edges(START, lambda _: "work", ["work", "note"])
    .add_conditional_edges("work", after, ["work", "ask", END])
    .add_edge("ask", END)
    .add_edge("note", END)
    .compile()
)
