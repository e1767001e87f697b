import asyncio
from typing import TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    n: int


async def tick(state: State, config: RunnableConfig) -> State:
    get_stream_writer()({"tick": state["n"]})
    await asyncio.sleep(config["configurable"].get("tick_ms", 400) / 1000)
    return {"n": state["n"] + 1}


graph = (
    StateGraph(State)
    .add_node(tick)
    .add_edge(START, "tick")
    .add_conditional_edges("tick", lambda state: "tick" if state["n"] < 5 else END, ["tick", END])
    .compile()
)
