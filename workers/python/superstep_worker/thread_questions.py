"""The server's questions about a thread that only its graph can answer: its state and its history."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from .checkpoint_link import CheckpointLink, LinkOptions
from .checkpointer import Checkpointer
from .connection import Connection
from .frames import Frame
from .graph_export import Graph, with_persistence
from .loader import LoadedGraph
from .store import Store
from .thread_state import thread_state


async def graph_state(loaded: LoadedGraph, question: Frame, connection: Connection) -> dict[str, Any]:
    """:returns: a ThreadState as on the wire"""
    async with _readable_graph(loaded, question, connection) as (graph, config):
        checkpoint_id = question.header.get("checkpoint_id")
        if checkpoint_id is not None:
            config["configurable"]["checkpoint_id"] = checkpoint_id
        return thread_state(await graph.aget_state(config, subgraphs=question.header["subgraphs"]))  # type: ignore[arg-type]


async def graph_history(loaded: LoadedGraph, question: Frame, connection: Connection) -> list[dict[str, Any]]:
    """:returns: ThreadStates as on the wire, newest first"""
    header = question.header
    before = header.get("before")
    options: dict[str, Any] = {
        "limit": header["limit"],
        "filter": header.get("filter"),
        "before": None if before is None else {"configurable": {"checkpoint_id": before}},
    }
    async with _readable_graph(loaded, question, connection) as (graph, config):
        return [thread_state(each) async for each in graph.aget_state_history(config, **options)]  # type: ignore[arg-type]


@asynccontextmanager
async def _readable_graph(
    loaded: LoadedGraph, question: Frame, connection: Connection
) -> AsyncIterator[tuple[Graph, dict[str, Any]]]:
    given: dict[str, Any] = json.loads(question.line("config") or b"{}")
    thread_id, ns = question.header["thread_id"], question.header["checkpoint_ns"]
    place = {"thread_id": thread_id, "checkpoint_ns": ns}
    config = {**given, "configurable": {**given.get("configurable", {}), **place}}
    async with loaded.use(config) as shared:  # type: ignore[arg-type]
        link = CheckpointLink(LinkOptions(call=connection.call, thread_id=thread_id, has_checkpoint=True))
        yield with_persistence(shared, Checkpointer(link), Store(connection.call)), config
