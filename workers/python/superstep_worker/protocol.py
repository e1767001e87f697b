"""Which headers a server may send, and what each must have (protocol/worker/frames.schema.json)."""

from __future__ import annotations

from collections.abc import Mapping

from .frames import Header, ProtocolError

Fields = Mapping[str, type | tuple[type, ...]]

_claim: Fields = {"run_id": str, "claim_id": str}
_question: Fields = {"call_id": str, "graph_id": str, "thread_id": str, "checkpoint_ns": str, "payload": list}
_about_graph: Fields = {"call_id": str, "graph_id": str, "payload": list}

_frames: Mapping[str, Fields] = {
    "load": {"project": str, "graphs": dict},
    "run": {
        **_claim,
        "thread_id": str,
        "attempt": int,
        "graph_id": str,
        "stream_modes": list,
        "stream_subgraphs": bool,
        "durability": str,
        "has_checkpoint": bool,
        "payload": list,
    },
    "cancel": _claim,
    "pause_events": _claim,
    "resume_events": _claim,
    "reply": {"call_id": str},
    "failure": {"call_id": str, "error": dict},
    "ping": {"nonce": str},
    "drain": {},
    "stop": {},
}

_calls: Mapping[str, Fields] = {
    "graph.state": {**_question, "subgraphs": bool},
    "graph.history": {**_question, "limit": int},
    "graph.draw": {**_about_graph, "xray": int},
    "graph.schemas": {**_about_graph},
    "graph.subgraphs": {**_about_graph, "recurse": bool},
}


def is_unknown_call(header: Header) -> bool:
    """A call that this worker has no answer to is no fault of the server's."""
    return header.get("type") == "call" and isinstance(header.get("call_id"), str) and header.get("method") not in _calls


def check_header(header: Header) -> None:
    """:raises ProtocolError: the type is unknown, or a field is missing or of another kind"""
    kind = header.get("type")
    fields = _calls.get(str(header.get("method"))) if kind == "call" else _frames.get(str(kind))
    if fields is None:
        raise ProtocolError(f"cannot understand a frame of type {kind}")
    wrong = [name for name, wanted in fields.items() if not isinstance(header.get(name), wanted)]
    if wrong:
        raise ProtocolError(f"a frame of type {kind} is without a right {', '.join(wrong)}")
