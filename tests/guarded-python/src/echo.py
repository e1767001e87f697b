"""Returns the caller, as a node sees it."""

from typing import Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph


class State(TypedDict, total=False):
    text: str
    user: Any


def echo(state: State, config: RunnableConfig) -> State:
    given = config["configurable"]
    user = {
        "user": given.get("langgraph_auth_user"),
        "id": given.get("langgraph_auth_user_id"),
        "permissions": given.get("langgraph_auth_permissions"),
    }
    return {"text": f"You said: {state['text']}", "user": user}


graph = StateGraph(State).add_node(echo).add_edge(START, "echo").compile()
