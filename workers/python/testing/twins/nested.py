import operator
from typing import Annotated, Any

from langchain_core.language_models import FakeListChatModel
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph


class State(MessagesState):
    log: Annotated[list[str], operator.add]


model = FakeListChatModel(responses=["ok"])


async def inner(state: State) -> dict[str, Any]:
    get_stream_writer()({"from": "inner"})
    return {"log": ["inner"], "messages": [await model.ainvoke("x")]}


sub = StateGraph(State).add_node(inner).add_edge(START, "inner").compile()

graph = (
    StateGraph(State)
    .add_node("first", lambda state: {"log": ["first"]})
    .add_node("sub", sub)
    .add_edge(START, "first")
    .add_edge("first", "sub")
    .compile()
)
