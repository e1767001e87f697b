from datetime import datetime
from typing import Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime


class State(TypedDict):
    n: int


builder = StateGraph(State).add_node("plus", lambda state: {"n": state["n"] + 1}).add_edge(START, "plus")

#: Compiled with a saver of its own, which the platform's replaces.
with_memory_saver = builder.compile(checkpointer=InMemorySaver())

without_checkpointer = builder.compile(checkpointer=False)


class Notes(TypedDict, total=False):
    note: str
    found: list[Any]


async def remember(state: Notes, runtime: Runtime) -> Notes:
    """Puts a note into the store and reads it back in the ways that a node has."""
    store = runtime.store
    assert store is not None
    await store.aput(("notes", "all"), "first", {"text": state["note"]})
    item = await store.aget(("notes", "all"), "first")
    hits = await store.asearch(("notes",), filter={"text": state["note"]})
    await store.adelete(("notes", "all"), "first")
    gone = await store.aget(("notes", "all"), "first")
    return {"found": [item and item.value, isinstance(item and item.created_at, datetime), len(hits), gone]}


notes = StateGraph(Notes).add_node(remember).add_edge(START, "remember").compile()
