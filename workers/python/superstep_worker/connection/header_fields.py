"""The headers of the server: by `type` or `method`, the required fields, and a validator for each field.

Generated from `protocol/worker/frames.schema.json` by `npm run generate -w protocol`; a test compares them.
Long on purpose: it is printed from one schema.
"""

# ruff: noqa: E501, E721
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Fields = tuple[Sequence[str], Mapping[str, Callable[[Any], bool]]]


def is_Loopback(v: Any) -> bool:
    return type(v) is dict and "socket_path" in v and type(v["socket_path"]) is str and "credential" in v and type(v["credential"]) is str


def is_CheckpointTuple(v: Any) -> bool:
    return type(v) is dict and "checkpoint_ns" in v and type(v["checkpoint_ns"]) is str and "checkpoint_id" in v and type(v["checkpoint_id"]) is str and ("parent_checkpoint_id" not in v or type(v["parent_checkpoint_id"]) is str) and "blobs" in v and type(v["blobs"]) is list and all(is_Blob(v_) for v_ in v["blobs"]) and "writes" in v and type(v["writes"]) is list and all(is_Write(v_) for v_ in v["writes"])


def is_Blob(v: Any) -> bool:
    return type(v) is dict and "channel" in v and type(v["channel"]) is str and "version" in v and type(v["version"]) is str and "type" in v and type(v["type"]) is str and ("repeated" not in v or v["repeated"] is True)


def is_Write(v: Any) -> bool:
    return type(v) is dict and "task_id" in v and type(v["task_id"]) is str and "task_path" in v and type(v["task_path"]) is str and "idx" in v and type(v["idx"]) is int and v["idx"] >= -2147483648 and v["idx"] <= 2147483647 and "channel" in v and type(v["channel"]) is str and "type" in v and type(v["type"]) is str


def is_DeltaHistory(v: Any) -> bool:
    return type(v) is dict and "blobs" in v and type(v["blobs"]) is list and all(is_Blob(v_) for v_ in v["blobs"]) and "writes" in v and type(v["writes"]) is list and all(is_Write(v_) for v_ in v["writes"])


def is_GatheredPut(v: Any) -> bool:
    return type(v) is dict and "checkpoint_ns" in v and type(v["checkpoint_ns"]) is str and "checkpoint_id" in v and type(v["checkpoint_id"]) is str and ("parent_checkpoint_id" not in v or type(v["parent_checkpoint_id"]) is str) and ("blobs" not in v or type(v["blobs"]) is list and all(is_Blob(v_) for v_ in v["blobs"])) and ("writes" not in v or type(v["writes"]) is list and all(is_Write(v_) for v_ in v["writes"]))


def is_Denial(v: Any) -> bool:
    return type(v) is dict and "status" in v and type(v["status"]) is int and "message" in v and type(v["message"]) is str and "headers" in v and type(v["headers"]) is dict and all(type(v_) is str for v_ in v["headers"].values())


def is_Failure(v: Any) -> bool:
    return type(v) is dict and "error" in v and type(v["error"]) is str and "message" in v and type(v["message"]) is str

frames: Mapping[str, Fields] = {
    "load": (
        ["project", "graphs"],
        {
            "project": lambda v: type(v) is str,
            "graphs": lambda v: type(v) is dict and all(type(v_) is str for v_ in v.values()),
            "auth": lambda v: type(v) is str,
            "app": lambda v: type(v) is str,
            "loopback": lambda v: is_Loopback(v),
        },
    ),
    "run": (
        ["run_id", "claim_id", "thread_id", "attempt", "graph_id", "stream_modes", "stream_subgraphs", "durability", "has_checkpoint", "payload"],
        {
            "run_id": lambda v: type(v) is str,
            "claim_id": lambda v: type(v) is str,
            "thread_id": lambda v: type(v) is str,
            "attempt": lambda v: type(v) is int,
            "graph_id": lambda v: type(v) is str,
            "stream_modes": lambda v: type(v) is list and all(type(v_) is str for v_ in v),
            "stream_subgraphs": lambda v: type(v) is bool,
            "protocol_events": lambda v: type(v) is bool,
            "durability": lambda v: v in ["sync", "async", "exit"],
            "interrupt_before": lambda v: (v == "*" or type(v) is list and all(type(v_) is str for v_ in v)),
            "interrupt_after": lambda v: (v == "*" or type(v) is list and all(type(v_) is str for v_ in v)),
            "trace": lambda v: v in ["models", "timings", "full"],
            "has_checkpoint": lambda v: type(v) is bool,
            "command_saved": lambda v: v in ["writes", "answer"],
            "payload": lambda v: type(v) is list and all(v_ in ["input", "command", "config", "context"] for v_ in v),
        },
    ),
    "cancel": (
        ["run_id", "claim_id"],
        {
            "run_id": lambda v: type(v) is str,
            "claim_id": lambda v: type(v) is str,
        },
    ),
    "pause_events": (
        ["run_id", "claim_id"],
        {
            "run_id": lambda v: type(v) is str,
            "claim_id": lambda v: type(v) is str,
        },
    ),
    "resume_events": (
        ["run_id", "claim_id"],
        {
            "run_id": lambda v: type(v) is str,
            "claim_id": lambda v: type(v) is str,
        },
    ),
    "ping": (
        ["nonce"],
        {
            "nonce": lambda v: type(v) is str,
        },
    ),
    "drain": (
        [],
        {
        },
    ),
    "stop": (
        [],
        {
        },
    ),
    "reply": (
        ["call_id"],
        {
            "call_id": lambda v: type(v) is str,
            "tuple": lambda v: is_CheckpointTuple(v),
            "tuples": lambda v: type(v) is list and all(is_CheckpointTuple(v_) for v_ in v),
            "more": lambda v: v is True,
            "history": lambda v: is_DeltaHistory(v),
            "checkpoint": lambda v: type(v) is dict,
            "puts": lambda v: type(v) is list and all(is_GatheredPut(v_) for v_ in v),
            "payload": lambda v: type(v) is list and all(v_ in ["checkpoint", "metadata", "blob", "write", "results", "state", "states", "graph", "schemas", "subgraphs", "values", "interrupts", "user", "value", "filter", "vectors"] for v_ in v),
            "denial": lambda v: is_Denial(v),
        },
    ),
    "failure": (
        ["call_id", "error"],
        {
            "call_id": lambda v: type(v) is str,
            "error": lambda v: is_Failure(v),
        },
    ),
    "call": (
        ["call_id", "method"],
        {
            "call_id": lambda v: type(v) is str,
            "method": lambda v: type(v) is str,
            "payload": lambda v: type(v) is list and all(type(v_) is str for v_ in v),
        },
    ),
}

calls: Mapping[str, Fields] = {
    "graph.state": (
        ["graph_id", "thread_id", "checkpoint_ns", "subgraphs", "payload"],
        {
            "graph_id": lambda v: type(v) is str,
            "thread_id": lambda v: type(v) is str,
            "checkpoint_ns": lambda v: type(v) is str,
            "checkpoint_id": lambda v: type(v) is str,
            "tuple": lambda v: is_CheckpointTuple(v),
            "starting": lambda v: type(v) is str,
            "subgraphs": lambda v: type(v) is bool,
            "select": lambda v: type(v) is list and all(type(v_) is str for v_ in v),
            "payload": lambda v: type(v) is list and all(v_ in ["config", "checkpoint", "metadata", "blob", "write"] for v_ in v),
        },
    ),
    "graph.history": (
        ["graph_id", "thread_id", "checkpoint_ns", "limit", "payload"],
        {
            "graph_id": lambda v: type(v) is str,
            "thread_id": lambda v: type(v) is str,
            "checkpoint_ns": lambda v: type(v) is str,
            "limit": lambda v: type(v) is int,
            "before": lambda v: type(v) is str,
            "filter": lambda v: type(v) is dict,
            "select": lambda v: type(v) is list and all(type(v_) is str for v_ in v),
            "payload": lambda v: type(v) is list and all(v_ == "config" for v_ in v),
        },
    ),
    "graph.draw": (
        ["graph_id", "xray", "payload"],
        {
            "graph_id": lambda v: type(v) is str,
            "xray": lambda v: (type(v) is bool or type(v) is int),
            "payload": lambda v: type(v) is list and all(v_ == "config" for v_ in v),
        },
    ),
    "graph.schemas": (
        ["graph_id", "payload"],
        {
            "graph_id": lambda v: type(v) is str,
            "payload": lambda v: type(v) is list and all(v_ == "config" for v_ in v),
        },
    ),
    "graph.subgraphs": (
        ["graph_id", "recurse", "payload"],
        {
            "graph_id": lambda v: type(v) is str,
            "namespace": lambda v: type(v) is str,
            "recurse": lambda v: type(v) is bool,
            "payload": lambda v: type(v) is list and all(v_ == "config" for v_ in v),
        },
    ),
    "graph.update_state": (
        ["graph_id", "thread_id", "checkpoint_ns", "payload"],
        {
            "graph_id": lambda v: type(v) is str,
            "thread_id": lambda v: type(v) is str,
            "checkpoint_ns": lambda v: type(v) is str,
            "checkpoint_id": lambda v: type(v) is str,
            "payload": lambda v: type(v) is list and all(v_ in ["config", "supersteps"] for v_ in v),
        },
    ),
    "auth.authenticate": (
        ["payload"],
        {
            "payload": lambda v: type(v) is list and all(v_ == "request" for v_ in v),
        },
    ),
    "auth.authorize": (
        ["event", "handler", "payload"],
        {
            "event": lambda v: type(v) is str,
            "handler": lambda v: type(v) is str,
            "payload": lambda v: type(v) is list and all(v_ in ["value", "user"] for v_ in v),
        },
    ),
    "store.embed": (
        ["embed", "payload"],
        {
            "embed": lambda v: type(v) is str,
            "payload": lambda v: type(v) is list and all(v_ == "texts" for v_ in v),
        },
    ),
}
