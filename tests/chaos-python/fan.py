"""One super-step of parallel branches between two single ones: what a branch wrote counts once."""

import asyncio
import operator
from typing import Annotated, Any, TypedDict

from effect import tell
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send


class State(TypedDict, total=False):
    # `branches` of them; branch n takes n times `stepMs` milliseconds.
    task: dict[str, Any]
    count: Annotated[int, operator.add]
    messages: Annotated[list[str], operator.add]


class BranchInput(TypedDict):
    task: dict[str, Any]
    branch: int


async def split(state: State, config: RunnableConfig) -> State:
    return await work(state["task"], config, "split", 1)


async def branch(state: BranchInput, config: RunnableConfig) -> State:
    return await work(state["task"], config, f"branch {state['branch']}", state["branch"] + 1)


async def join(state: State, config: RunnableConfig) -> State:
    return await work(state["task"], config, "join", 1)


async def work(task: dict[str, Any], config: RunnableConfig, name: str, times: int) -> State:
    tell(config, name)
    await asyncio.sleep(task["stepMs"] * times / 1000)
    return {"count": 1, "messages": [f"{task['name']}:{name}"]}


def branches(state: State) -> list[Send]:
    task = state["task"]
    return [Send("branch", {"task": task, "branch": number}) for number in range(task["branches"])]


graph = (
    StateGraph(State)
    .add_node(split)
    .add_node(branch)
    .add_node(join)
    .add_edge(START, "split")
    .add_conditional_edges("split", branches, ["branch"])
    .add_edge("branch", "join")
    .add_edge("join", END)
    .compile()
)
