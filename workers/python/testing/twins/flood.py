"""One node that sends many large events at once."""

from typing import TypedDict

from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph


class State(TypedDict, total=False):
    events: int
    eventBytes: int
    sent: int


async def pour(state: State) -> State:
    write = get_stream_writer()
    for event in range(state["events"]):
        write({"event": event, "filling": "x" * state["eventBytes"]})
    return {"sent": state["events"]}


graph = StateGraph(State).add_node(pour).add_edge(START, "pour").compile()
