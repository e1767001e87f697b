"""The required fields of each header from the server, and their types.

Generated from protocol/worker/frames.schema.json by `npm run generate -w protocol`; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping

Fields = Mapping[str, type | tuple[type, ...]]

frames: Mapping[str, Fields] = {
    "load": {
        "project": str,
        "graphs": dict,
    },
    "run": {
        "run_id": str,
        "claim_id": str,
        "thread_id": str,
        "attempt": int,
        "graph_id": str,
        "stream_modes": list,
        "stream_subgraphs": bool,
        "durability": str,
        "has_checkpoint": bool,
        "payload": list,
    },
    "cancel": {
        "run_id": str,
        "claim_id": str,
    },
    "pause_events": {
        "run_id": str,
        "claim_id": str,
    },
    "resume_events": {
        "run_id": str,
        "claim_id": str,
    },
    "ping": {
        "nonce": str,
    },
    "drain": {},
    "stop": {},
    "reply": {
        "call_id": str,
    },
    "failure": {
        "call_id": str,
        "error": dict,
    },
}

calls: Mapping[str, Fields] = {
    "graph.state": {
        "call_id": str,
        "graph_id": str,
        "thread_id": str,
        "checkpoint_ns": str,
        "subgraphs": bool,
        "payload": list,
    },
    "graph.history": {
        "call_id": str,
        "graph_id": str,
        "thread_id": str,
        "checkpoint_ns": str,
        "limit": int,
        "payload": list,
    },
    "graph.draw": {
        "call_id": str,
        "graph_id": str,
        "xray": object,
        "payload": list,
    },
    "graph.schemas": {
        "call_id": str,
        "graph_id": str,
        "payload": list,
    },
    "graph.subgraphs": {
        "call_id": str,
        "graph_id": str,
        "recurse": bool,
        "payload": list,
    },
    "graph.update_state": {
        "call_id": str,
        "graph_id": str,
        "thread_id": str,
        "checkpoint_ns": str,
        "payload": list,
    },
    "auth.authenticate": {
        "call_id": str,
        "payload": list,
    },
    "auth.authorize": {
        "call_id": str,
        "event": str,
        "handler": str,
        "payload": list,
    },
    "store.embed": {
        "call_id": str,
        "embed": str,
        "payload": list,
    },
}
