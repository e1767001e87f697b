"""Raises an error whose message cannot be read, at the place that `where` names. With `caught`, the node goes on. Its custom
events have the same error, and a name that cannot be read."""

import asyncio
from typing import Any, NotRequired, TypedDict

from langchain_core.language_models.chat_models import SimpleChatModel
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import Tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph


class Unreadable(Exception):
    def __str__(self) -> str:
        raise TypeError("this error has no message")

    __repr__ = __str__


class State(TypedDict):
    caught: NotRequired[bool]
    where: NotRequired[str]


def fail(*_: Any) -> Any:
    raise Unreadable


class FailingModel(SimpleChatModel):
    @property
    def _llm_type(self) -> str:
        return "failing"

    def _call(self, *_: Any, **__: Any) -> str:
        return str(fail())


class Unnamed:
    def __str__(self) -> str:
        raise TypeError("this name has no text")

    __repr__ = __str__


failing = RunnableLambda(fail, name="failing")
tool = Tool(name="failing_tool", description="Fails.", func=fail)
model = FailingModel()


async def rejection() -> None:
    async def reject() -> None:
        fail()

    asyncio.create_task(reject())
    await asyncio.sleep(60)


async def custom() -> None:
    write = get_stream_writer()
    write({"name": "told", "error": Unreadable()})
    write({"name": Unnamed(), "told": True})


places: dict[str, Any] = {
    "work": lambda: failing.ainvoke({}),
    "node": fail,
    "tool": lambda: tool.ainvoke("x"),
    "model": lambda: model.ainvoke("x"),
    "rejection": rejection,
    "custom": custom,
}


async def call(state: State) -> dict[str, bool]:
    try:
        await places[state.get("where", "work")]()
    except Unreadable:
        if not state.get("caught"):
            raise
    return {}


graph = StateGraph(State).add_node(call).add_edge(START, "call").compile()


def make_graph() -> Any:
    """A factory that fails."""
    raise Unreadable
