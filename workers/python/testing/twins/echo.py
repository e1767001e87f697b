from typing import Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime


class State(TypedDict):
    seen: Any


class Context(TypedDict, total=False):
    a: int


def shown(values: dict[str, Any]) -> dict[str, Any]:
    """The values that JSON supports; of the others only their kind."""
    return {
        key: f"<{type(value).__name__}>" if key.startswith("__") or key == "checkpoint_map" else value
        for key, value in values.items()
    }


def echo(state: State, config: RunnableConfig, runtime: Runtime[Context]) -> State:
    seen = {
        "configurable": shown(dict(config["configurable"])),
        "metadata": shown(dict(config["metadata"])),
        "context": runtime.context,
        "hasStore": runtime.store is not None,
        # Python cancels the node's task.
        "hasSignal": True,
        "hasWriter": callable(runtime.stream_writer),
        "tags": [tag for tag in config.get("tags") or [] if not tag.startswith("graph:")],
        "recursionLimit": config["recursion_limit"],
    }
    return {"seen": seen}


graph = (
    StateGraph(State, context_schema=Context)
    .add_node(echo)
    .add_edge(START, "echo")
    .compile()
    .with_config({"recursion_limit": 31})
)
