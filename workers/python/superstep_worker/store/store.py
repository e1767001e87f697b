"""LangGraph's `BaseStore`, backed by the server's store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph.store.base import NOT_PROVIDED, BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp

from ..checkpoints.checkpoint_link import Call
from ..connection.worker_loop import from_any_loop, on_loop
from ..values.serialise import serialise


class Store(BaseStore):
    supports_ttl = True
    # LangGraph fills in what the caller leaves open. The server knows the project's `store.ttl`.
    ttl_config: Any = {"refresh_on_read": None, "default_ttl": NOT_PROVIDED}

    def __init__(self, call: Call, claim: Mapping[str, str] | None = None) -> None:
        self._call = call
        self._claim = claim or {}
        self._loop = asyncio.get_running_loop()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await from_any_loop(self._loop, self._batch(list(ops)))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return on_loop(self._loop, self._batch(list(ops)))

    async def _batch(self, operations: Sequence[Op]) -> list[Result]:
        line = serialise([_wire_operation(each) for each in operations])
        reply = await self._call({"method": "store.batch", **self._claim}, [("operations", line)])
        results = json.loads(reply.line("results"))
        return [_from_wire(operation, result) for operation, result in zip(operations, results)]


def _wire_operation(operation: Op) -> dict[str, Any]:
    if isinstance(operation, GetOp):
        return {"op": "get", **_present(operation, ("namespace", "key", "refresh_ttl"))}
    if isinstance(operation, SearchOp):
        names = ("namespace_prefix", "filter", "limit", "offset", "query", "refresh_ttl")
        return {"op": "search", **_present(operation, names)}
    if isinstance(operation, PutOp):
        # None: the item never expires.
        ttl: Any = operation.ttl
        lifetime = {} if ttl is NOT_PROVIDED or operation.value is None else {"ttl": ttl}
        return {"op": "put", "value": operation.value, **_present(operation, ("namespace", "key", "index")), **lifetime}
    return {"op": "list_namespaces", **_conditions(operation), **_present(operation, ("max_depth", "limit", "offset"))}


def _conditions(operation: ListNamespacesOp) -> dict[str, Any]:
    conditions = operation.match_conditions
    if not conditions:
        return {}
    return {"match_conditions": [{"match_type": each.match_type, "path": each.path} for each in conditions]}


def _present(operation: Op, names: Iterable[str]) -> dict[str, Any]:
    fields = {name: getattr(operation, name) for name in names}
    return {name: value for name, value in fields.items() if value is not None}


def _from_wire(operation: Op, result: Any) -> Result:
    if isinstance(operation, GetOp):
        return None if result is None else Item(**_item(result))
    if isinstance(operation, SearchOp):
        return [SearchItem(**_item(each), score=each.get("score")) for each in result]
    if isinstance(operation, PutOp):
        return None
    return [tuple(namespace) for namespace in result]


def _item(result: Mapping[str, Any]) -> dict[str, Any]:
    names = ("value", "key", "namespace", "created_at", "updated_at")
    fields = {name: result[name] for name in names}
    # Python before 3.11 cannot parse the Z.
    dates = {name: fields[name].replace("Z", "+00:00") for name in ("created_at", "updated_at")}
    return {**fields, **dates, "namespace": tuple(fields["namespace"])}
