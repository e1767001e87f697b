"""The server's calls about a graph itself, for user interfaces: its drawing, its schemas, its subgraphs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..connection.connection import Connection
from ..connection.frames import Frame
from ..loading.factory import Purpose
from ..loading.loader import LoadedGraph
from ..store.store import Store
from ..values.user import with_user

Schemas = dict[str, Any]


async def draw_graph(loaded: LoadedGraph, question: Frame, connection: Connection) -> dict[str, Any]:
    """:returns: `{nodes, edges}` in the form of LangGraph's drawable graph"""
    config = _config_of(question)
    async with loaded.use(config, _purpose(connection)) as graph:  # type: ignore[arg-type]
        drawable = await graph.aget_graph(config, xray=question.header["xray"])  # type: ignore[arg-type]
        return drawable.to_json()


async def graph_schemas(loaded: LoadedGraph, question: Frame, connection: Connection) -> Schemas:
    """:returns: each JSON Schema, or None when the graph does not provide it"""
    async with loaded.use(_config_of(question), _purpose(connection)) as graph:  # type: ignore[arg-type]
        return _schemas_of(graph)


async def graph_subgraphs(loaded: LoadedGraph, question: Frame, connection: Connection) -> dict[str, Schemas]:
    """:returns: the schemas of subgraphs by their namespace"""
    namespace, recurse = question.header.get("namespace"), question.header["recurse"]

    def is_asked(name: str) -> bool:
        if namespace is None:
            return recurse or "|" not in name
        return name == namespace or (recurse and name.startswith(f"{namespace}|"))

    async with loaded.use(_config_of(question), _purpose(connection)) as graph:  # type: ignore[arg-type]
        found = [each async for each in graph.aget_subgraphs(recurse=True)]
        return {name: _schemas_of(subgraph) for name, subgraph in found if is_asked(name)}


def _schemas_of(graph: Any) -> Schemas:
    state = _told(lambda: _state_schema(graph))
    context = _told(graph.get_context_jsonschema)
    return {
        "input_schema": _told(graph.get_input_jsonschema) or state,
        "output_schema": _told(graph.get_output_jsonschema) or state,
        "state_schema": state,
        "config_schema": context,
        "context_schema": context,
    }


def _state_schema(graph: Any) -> Any:
    """Made from the channels: before Python 3.12 pydantic rejects a `typing.TypedDict`, but not the types in it."""
    from pydantic import create_model

    fields: dict[str, Any] = {name: (graph.channels[name].UpdateType, None) for name in graph.stream_channels_list}
    return create_model("State", **fields).model_json_schema()


def _told(tell: Callable[[], Any]) -> Any:
    """Not every type has a JSON Schema, and a functional entrypoint has no builder."""
    try:
        return tell()
    except Exception:
        return None


def _config_of(question: Frame) -> dict[str, Any]:
    given = json.loads(question.line("config") or b"{}")
    # A factory may read it without a check, as in a run.
    return with_user({"configurable": {}, **given})


def _purpose(connection: Connection) -> Purpose:
    return Purpose("assistants.read", Store(connection.call))
