import asyncio
import os
import time
from typing import Any, TypedDict

from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import Tool
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
        write({"i": i, "padding": "x" * (500_000 if i == 0 else 20_000)})
    return "flooded"


async def burst() -> str:
    write = get_stream_writer()
    for i in range(20_000):
        write({"i": i})
    return "burst"


class Costly:
    """Its JSON takes long to make."""

    def model_dump(self) -> str:
        time.sleep(0.15)
        return "costly"


class Broken:
    def model_dump(self) -> str:
        raise ValueError("no form")


same: RunnableLambda[Any, Any] = RunnableLambda(lambda value: value, name="same")
say = Tool(name="say", description="Says a text.", func=lambda text: text)


async def broken() -> None:
    await same.ainvoke(Broken())


async def costly() -> None:
    for _ in range(20):
        await same.ainvoke(Costly())


async def texts() -> None:
    for text in ("123", "true", "null", "[1]", '"quoted"', "{no JSON"):
        await say.ainvoke(text)


async def deaf() -> None:
    get_stream_writer()("deaf")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await asyncio.sleep(60)


oddities: dict[str, Any] = {
    "model": model,
    "values": values,
    "rejection": rejection,
    "exit": end,
    "flood": flood,
    "burst": burst,
    "broken": broken,
    "costly": costly,
    "texts": texts,
    "deaf": deaf,
}


async def odd(state: State) -> State:
    act = oddities.get(state["what"])
    return {"said": None if act is None else await act()}


graph = StateGraph(State).add_node(odd).add_edge(START, "odd").compile()
