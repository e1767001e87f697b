"""Asks the server that executes it."""

from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph_sdk import get_client


class State(TypedDict, total=False):
    found: int


async def ask(state: State) -> State:
    client = get_client()
    thread = await client.threads.create()
    found = await client.threads.get(thread["thread_id"])
    return {"found": 1 if found["thread_id"] == thread["thread_id"] else 0}


graph = StateGraph(State).add_node(ask).add_edge(START, "ask").compile()
