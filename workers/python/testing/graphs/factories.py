"""Factories of every kind. Each graph reports what its factory got."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph_sdk.runtime import ServerRuntime


class State(TypedDict, total=False):
    told: Any


@dataclass
class Context:
    model: str = "small"


def reporting(told: Any) -> StateGraph[State, Context]:
    graph = StateGraph(State, context_schema=Context)
    return graph.add_node("report", lambda state: {"told": told}).add_edge(START, "report")


def shown(runtime: ServerRuntime[Context]) -> dict[str, Any]:
    running = runtime.execution_runtime
    return {
        "access": runtime.access_context,
        "user": runtime.user and runtime.ensure_user().identity,
        "store": runtime.store is not None,
        "context": running and running.context,
    }


def by_type(this: ServerRuntime[Context], that: RunnableConfig) -> Any:
    return reporting([shown(this), that["configurable"].get("graph_id")])


def by_place(config, runtime):  # type: ignore[no-untyped-def]
    return reporting([runtime.access_context, config["configurable"].get("graph_id")])


async def only_runtime(runtime: ServerRuntime) -> Any:
    return reporting(runtime.access_context)


@asynccontextmanager
async def opened(config: RunnableConfig) -> AsyncIterator[Any]:
    log = ["opened"]
    try:
        yield reporting(log).compile()
    finally:
        log.append("closed")
        print(" ".join(log), flush=True)


class Group:
    """Like `asyncio.TaskGroup`, which Python has since 3.11, and like anyio's: only the task that entered it may leave it."""

    def __init__(self) -> None:
        self._owner = asyncio.current_task()

    def fail(self) -> None:
        """What a group does when one of its tasks failed."""
        if self._owner is not None:
            self._owner.cancel()

    def end(self) -> None:
        if asyncio.current_task() is not self._owner:
            raise RuntimeError("left in another task")


opened_by: ContextVar[str] = ContextVar("opened_by", default="no one")


@asynccontextmanager
async def grouped(config: RunnableConfig) -> AsyncIterator[Any]:
    group = Group()
    opened_by.set("grouped")
    graph = StateGraph(State).add_node("report", lambda state: {"told": opened_by.get()}).add_edge(START, "report")
    try:
        yield graph.compile()
    finally:
        group.end()


@asynccontextmanager
async def group_fails(config: RunnableConfig) -> AsyncIterator[Any]:
    group = Group()

    async def report(state: State) -> State:
        group.fail()
        await asyncio.sleep(60)
        return {}

    try:
        yield StateGraph(State).add_node(report).add_edge(START, "report").compile()
    except asyncio.CancelledError:
        raise LookupError("a task of the group failed") from None


@asynccontextmanager
async def exit_fails(config: RunnableConfig) -> AsyncIterator[Any]:
    yield reporting("exit_fails").compile()
    raise LookupError("the exit failed")


def with_default(config: RunnableConfig, size: int = 3) -> Any:
    return reporting(size)


partly = partial(with_default, size=4)


def nothing() -> Any:
    return reporting("nothing")
