import asyncio
import os
from typing import Any, TypedDict

from langchain_core.language_models import FakeListChatModel
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph


class State(TypedDict, total=False):
    what: str
    said: Any


#: A model that answers all at once.
plain = FakeListChatModel(responses=["all at once"], disable_streaming=True)


async def model() -> Any:
    return (await plain.ainvoke("x", {"tags": ["aside"]})).content


async def values() -> str:
    cyclic: dict[str, Any] = {"name": "ring"}
    cyclic["self"] = cyclic
    write = get_stream_writer()
    write(cyclic)
    write({"none": float("nan"), "set": {1}, "error": ValueError("too far"), "line": "one\ntwo\u2028\0"})
    write(None)
    return "said"


async def rejection() -> None:
    async def fail() -> None:
        raise LookupError("nobody awaits this")

    asyncio.create_task(fail())
    await asyncio.sleep(60)


async def end() -> None:
    os._exit(3)


async def flood() -> str:
    write = get_stream_writer()
    for i in range(200):
        write({"i": i, "padding": "x" * 20_000})
    return "flooded"


async def burst() -> str:
    write = get_stream_writer()
    for i in range(20_000):
        write({"i": i})
    return "burst"


async def deaf() -> None:
    get_stream_writer()("deaf")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await asyncio.sleep(60)


oddities = {"model": model, "values": values, "rejection": rejection, "exit": end, "flood": flood, "burst": burst, "deaf": deaf}


async def odd(state: State) -> State:
    act = oddities.get(state["what"])
    return {"said": None if act is None else await act()}


graph = StateGraph(State).add_node(odd).add_edge(START, "odd").compile()
