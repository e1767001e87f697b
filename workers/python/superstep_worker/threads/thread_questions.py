"""The server's calls about a thread that only its graph can answer: its state and its history."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ..checkpoints.checkpoint_link import Call, CheckpointLink, LinkOptions
from ..checkpoints.checkpointer import Checkpointer
from ..connection.connection import Connection, Lines
from ..connection.frames import Frame, Header
from ..loading.factory import Purpose
from ..loading.graph_export import Graph, with_persistence
from ..loading.loader import LoadedGraph
from ..store.store import Store
from ..values.user import with_user
from .thread_state import selected, starting_state, thread_state


async def graph_state(loaded: LoadedGraph, question: Frame, connection: Connection) -> dict[str, Any]:
    """:returns: a ThreadState as on the wire"""
    async with _readable_graph(loaded, question, connection) as (graph, config):
        state = await graph.aget_state(config, subgraphs=question.header["subgraphs"])  # type: ignore[arg-type]
        return selected(starting_state(thread_state(state), question.header.get("starting")), question.header.get("select"))


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
        history = graph.aget_state_history(config, **options)  # type: ignore[arg-type]
        return [selected(thread_state(each), header.get("select")) async for each in history]


def question_config(question: Frame) -> dict[str, Any]:
    """The config of a call, with the requested checkpoint."""
    given = with_user(json.loads(question.line("config") or b"{}"))
    header = question.header
    checkpoint_id = header.get("checkpoint_id")
    place = {"thread_id": header["thread_id"], "checkpoint_ns": header["checkpoint_ns"]}
    wanted = {} if checkpoint_id is None else {"checkpoint_id": checkpoint_id}
    return {**given, "configurable": {**given.get("configurable", {}), **place, **wanted}}


def reading_link(thread_id: str, call: Call) -> CheckpointLink:
    """A link that can only read checkpoints."""
    return CheckpointLink(LinkOptions(call=call, thread_id=thread_id, has_checkpoint=True))


@asynccontextmanager
async def _readable_graph(
    loaded: LoadedGraph, question: Frame, connection: Connection
) -> AsyncIterator[tuple[Graph, dict[str, Any]]]:
    config, store = question_config(question), Store(connection.call)
    async with loaded.use(config, Purpose("threads.read", store)) as shared:  # type: ignore[arg-type]
        link = reading_link(question.header["thread_id"], _sent_along(question, connection))
        yield with_persistence(shared, Checkpointer(link), store), config


def _sent_along(question: Frame, connection: Connection) -> Call:
    """The server sends the checkpoint of a state with the call, because the graph requests it first."""
    header = question.header
    sent = header.get("tuple")
    if sent is None:
        return connection.call
    reply = Frame({"tuple": sent}, question.payload[1:])
    # Without an id the graph requests the newest checkpoint, which this is only if the call named none.
    ids = (header.get("checkpoint_id"), sent["checkpoint_id"])
    wanted = ("checkpoint.get", header["thread_id"], sent["checkpoint_ns"])

    async def call(asked: Header, lines: Lines = ()) -> Frame:
        is_it = (asked["method"], asked.get("thread_id"), asked.get("checkpoint_ns")) == wanted
        return reply if is_it and asked.get("checkpoint_id") in ids else await connection.call(asked, lines)

    return call
