"""Ends its whole process in the second step of a first attempt."""

import operator
import os
import signal
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def fall(state: State, config: RunnableConfig) -> State:
    attempt = config["metadata"]["run_attempt"]
    if attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"log": [f"attempt {attempt}"]}


graph = (
    StateGraph(State)
    .add_node("stand", lambda state: {"log": ["stood"]})
    .add_node(fall)
    .add_edge(START, "stand")
    .add_edge("stand", "fall")
    .add_edge("fall", END)
    .compile()
)
