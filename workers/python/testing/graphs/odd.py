"""Values that JSON cannot represent, and requests of a synchronous node."""

import asyncio
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_store
from langgraph.graph import START, StateGraph


@dataclass
class Point:
    x: float
    y: float


class Values(TypedDict, total=False):
    kind: str
    value: Any


# More than asyncio's own limit of threads. A barrier opens only when all its parties run at the same time.
together = threading.Barrier(40, timeout=30)


def make(state: Values) -> Values:
    kind = state["kind"]
    if kind == "error":
        raise LookupError("nothing is there")
    if kind == "exit":
        raise SystemExit(3)
    if kind == "blocked":
        time.sleep(60)
    if kind == "together":
        together.wait()
    made: dict[str, Any] = {
        "point": Point(1.5, float("nan")),
        "set": {1},
        "tuple": (1, 2),
        "bytes": b"ab",
        "date": datetime(2026, 1, 2, tzinfo=timezone.utc),
        "keys": {1: "one"},
    }
    return {"value": made.get(kind)}


def again(state: Values, config: RunnableConfig) -> Values:
    """The values of `make` after they were restored from a checkpoint."""
    return {"kind": type(state["value"]).__name__}


graph = StateGraph(Values).add_node(make).add_node(again).add_edge(START, "make").add_edge("make", "again").compile()


inner = StateGraph(Values).add_node(again).add_edge(START, "again").compile()


def call(state: Values, config: RunnableConfig) -> Values:
    """A node in a thread runs another graph, which uses the sync forms of the saver."""
    made = inner.invoke({"value": (1, 2)}, config)
    return {"kind": made["kind"]}


caller = StateGraph(Values).add_node(call).add_edge(START, "call").compile()


def call_with_run(state: Values, config: RunnableConfig) -> Values:
    """A node in a thread runs another graph on an event loop of its own."""
    made = asyncio.run(inner.ainvoke({"value": (1, 2)}, config))
    return {"kind": made["kind"]}


caller_with_run = StateGraph(Values).add_node("call", call_with_run).add_edge(START, "call").compile()


class Note(TypedDict, total=False):
    note: str
    found: list[Any]


def keep(state: Note) -> Note:
    """A synchronous node, which uses the synchronous methods of the store."""
    store = get_store()
    store.put(("notes",), "a", {"text": state["note"]})
    store.put(("notes",), "b", {"text": "other"})
    store.delete(("notes",), "b")
    item = store.get(("notes",), "a")
    found = store.search(("notes",))
    return {"found": [item and item.value, len(found), store.list_namespaces(), store.get(("notes",), "b")]}


def keep_with_run(state: Note) -> Note:
    """A node in a thread uses the store on an event loop of its own."""
    store = get_store()

    async def keep_note() -> Any:
        await store.aput(("notes with run",), "a", {"text": state["note"]})
        item = await store.aget(("notes with run",), "a")
        return item and item.value

    return {"found": [asyncio.run(keep_note())]}


notes_with_run = StateGraph(Note).add_node("keep", keep_with_run).add_edge(START, "keep").compile()

async def expiring(state: Note) -> Note:
    """Operations with and without a time to live."""
    store, place = get_store(), ("expiring",)
    await store.aput(place, "default", {})
    await store.aput(place, "never", {}, ttl=None)
    await store.aput(place, "soon", {}, ttl=5)
    await store.aget(place, "default")
    await store.asearch(place)
    await store.aget(place, "default", refresh_ttl=False)
    await store.adelete(place, "default")
    return {"found": []}


expiring_notes = StateGraph(Note).add_node(expiring).add_edge(START, "expiring").compile()

notes = StateGraph(Note).add_node(keep).add_edge(START, "keep").compile()
