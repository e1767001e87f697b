"""Steps that record their execution in a file, so that a test can detect repetitions."""

import asyncio
import operator
import os
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph


class Steps(TypedDict, total=False):
    #: The file in which each step records its number and its process.
    file: str
    steps: int
    log: Annotated[list[int], operator.add]


async def step(state: Steps) -> Steps:
    number = len(state.get("log", []))
    with open(state["file"], "a") as file:
        file.write(f"{number} {os.getpid()}\n")
    await asyncio.sleep(0.05)
    return {"log": [number]}


def following(state: Steps) -> str:
    return "step" if len(state["log"]) < state["steps"] else END


graph = (
    StateGraph(Steps).add_node(step).add_edge(START, "step").add_conditional_edges("step", following, ["step", END])
).compile()
