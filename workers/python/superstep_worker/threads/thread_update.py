"""Computes updates of a thread's state with its graph; the server writes them (protocol/worker)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from langgraph.types import StateUpdate

from ..checkpoints.checkpointer import Checkpointer
from ..checkpoints.gathering_link import GatheringLink
from ..connection.connection import Connection
from ..connection.frames import Frame
from ..loading.factory import Purpose
from ..loading.graph_export import with_persistence
from ..loading.loader import LoadedGraph
from ..store.store import Store
from ..values.answer import Answer
from ..values.command import to_command
from ..values.serialise import serialise
from .printed_messages import with_messages
from .thread_questions import question_config, reading_link
from .thread_state import open_interrupts


async def graph_update_state(loaded: LoadedGraph, question: Frame, connection: Connection) -> Answer:
    """Calls LangGraph's `bulk_update_state` and collects its writes.

    :raises Exception: the error of LangGraph or a reducer; then nothing must be written
    """
    config = question_config(question)
    thread_id = question.header["thread_id"]
    store = Store(connection.call)
    async with loaded.use(config, Purpose("threads.update", store)) as shared:  # type: ignore[arg-type]
        link = GatheringLink(reading_link(thread_id, connection.call))
        graph = with_persistence(shared, Checkpointer(link), store)
        updated = await graph.abulk_update_state(config, _supersteps(question, graph.channels))  # type: ignore[arg-type]
        state = await graph.aget_state({"configurable": {"thread_id": thread_id}})

    lines = [("values", serialise(state.values)), ("interrupts", serialise(open_interrupts(state))), *link.lines]
    names = ("thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map")
    checkpoint = {name: updated["configurable"][name] for name in names if name in updated["configurable"]}
    return Answer({"checkpoint": checkpoint, "puts": link.puts}, lines)


def _supersteps(question: Frame, channels: Mapping[str, Any]) -> list[list[StateUpdate]]:
    supersteps = json.loads(question.line("supersteps") or b"[]")
    return [[_update(each, channels) for each in superstep["updates"]] for superstep in supersteps]


def _update(update: Mapping[str, Any], channels: Mapping[str, Any]) -> StateUpdate:
    command = update.get("command")
    if command is None:
        values = with_messages(update.get("values"), channels)
    else:
        values = to_command({**command, "update": with_messages(command.get("update"), channels)}, None)
    return StateUpdate(values, update.get("as_node"))
