"""Super-steps in a row. Each tells that it executes, streams tokens, and adds one message and one to a counter."""

import asyncio
import operator
import os
from typing import Annotated, Any, TypedDict

from effect import tell
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_store, get_stream_writer
from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    # What this run makes: `steps` super-steps of `stepMs` milliseconds, each with `tokens` events, as quick as it can for 0. The
    # last one waits for the file `gate`, if there is to be one. With `notes` each also writes what it did into the store.
    task: dict[str, Any]
    at: int
    count: Annotated[int, operator.add]
    messages: Annotated[list[str], operator.add]


async def step(state: State, config: RunnableConfig) -> State:
    task, at = state["task"], state.get("at", 0)
    tell(config, "step")
    write = get_stream_writer()
    for token in range(task["tokens"]):
        write({"at": at, "token": token})
        if task["stepMs"] > 0:
            await asyncio.sleep(task["stepMs"] / task["tokens"] / 1000)
        elif token % 100 == 99:
            await asyncio.sleep(0)
    if task.get("notes"):
        note = {"at": at, "attempt": config["metadata"]["run_attempt"]}
        await get_store().aput(("chaos",), task["name"], note)
    while task.get("gate") and at == task["steps"] - 1 and not os.path.exists(task["gate"]):
        await asyncio.sleep(0.005)
    return {"at": at + 1, "count": 1, "messages": [f"{task['name']}:{at}"]}


graph = (
    StateGraph(State)
    .add_node(step)
    .add_edge(START, "step")
    .add_conditional_edges("step", lambda state: "step" if state["at"] < state["task"]["steps"] else END, ["step", END])
    .compile()
    # As many as the longest task takes.
    .with_config(recursion_limit=500)
)
