"""Kills its own process, as a fault in native code does: no handler of anybody hears of it."""

import os
import signal
from typing import Any, TypedDict

from effect import tell
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    task: dict[str, Any]
    at: int
    messages: list[str]


def die(state: State, config: RunnableConfig) -> State:
    tell(config, "die")
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


graph = StateGraph(State).add_node(die).add_edge(START, "die").add_edge("die", END).compile()
