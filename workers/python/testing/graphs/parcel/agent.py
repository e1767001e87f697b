"""A graph that is named by its module, with a relative import."""

from typing import TypedDict

from langgraph.graph import START, StateGraph

from .names import name


class State(TypedDict, total=False):
    name: str


graph = StateGraph(State).add_node("say", lambda state: {"name": name}).add_edge(START, "say")
