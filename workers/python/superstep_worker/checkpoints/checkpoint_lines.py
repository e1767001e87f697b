"""Checkpoints as the lines of the worker protocol, and back (protocol/worker/README.md, "checkpoints")."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, ChannelVersions, Checkpoint, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol

from ..connection.connection import Lines
from ..connection.frames import Frame
from ..values.serialise import message_of, serialise
from .saved_checkpoint import PlacedCheckpoint, PlacedWrite

if TYPE_CHECKING:
    # Older libraries, without delta channels, do not have it.
    from langgraph.checkpoint.base import DeltaChannelHistory

Described = list[dict[str, Any]]


def place_of(config: RunnableConfig) -> tuple[str, str, str | None]:
    """The checkpoint that a config refers to: thread, namespace and id."""
    configurable = config.get("configurable", {})
    if "thread_id" not in configurable:
        raise ValueError("a checkpoint needs configurable.thread_id")
    return str(configurable["thread_id"]), configurable.get("checkpoint_ns") or "", configurable.get("checkpoint_id")


def place_config(thread_id: str, ns: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}}


def encode_blobs(
    serde: SerializerProtocol, values: Mapping[str, Any], new_versions: ChannelVersions
) -> tuple[Described, Lines]:
    """The blobs of channels with a new version, and one line for each."""
    blobs, lines = [], []
    for channel, version in new_versions.items():
        kind, line = _encode(serde, values[channel]) if channel in values else ("empty", "")
        blobs.append({"channel": channel, "version": str(version), "type": kind})
        lines.append(("blob", line))
    return blobs, lines


def encode_writes(
    serde: SerializerProtocol, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
) -> tuple[Described, Lines]:
    described, lines = [], []
    for position, (channel, value) in enumerate(writes):
        kind, line = _encode(serde, value)
        idx = WRITES_IDX_MAP.get(channel, position)
        described.append({"task_id": task_id, "task_path": task_path, "idx": idx, "channel": channel, "type": kind})
        lines.append(("write", line))
    return described, lines


def checkpoint_lines(checkpoint: Checkpoint, metadata: Mapping[str, Any]) -> Lines:
    """The checkpoint without its values, which are sent as blobs, and its metadata."""
    rest = {name: value for name, value in checkpoint.items() if name != "channel_values"}
    return [("checkpoint", serialise(rest)), ("metadata", serialise(metadata))]


def decode_tuples(serde: SerializerProtocol, thread_id: str, reply: Frame) -> list[PlacedCheckpoint]:
    """Decodes the tuples of a reply: `tuple` or `tuples`, and all their lines, one after another."""
    one = reply.header.get("tuple")
    shared: dict[tuple[str, str, str], bytes] = {}
    tuples, position = [], 0
    for fields in reply.header.get("tuples", [] if one is None else [one]):
        end = position + 2 + len(fields["blobs"]) + len(fields["writes"])
        lines = _with_repeated(fields, reply.payload[position:end], shared)
        tuples.append(_decode_tuple(serde, thread_id, fields, lines))
        position = end
    return tuples


def _with_repeated(
    fields: Mapping[str, Any], lines: Sequence[bytes], shared: dict[tuple[str, str, str], bytes]
) -> list[bytes]:
    """A tuple's lines, including lines of values that were sent with an earlier tuple of the reply."""
    whole = list(lines)
    for place, blob in enumerate(fields["blobs"], 2):
        key = (fields["checkpoint_ns"], blob["channel"], blob["version"])
        if blob.get("repeated"):
            whole[place] = shared[key]
        else:
            shared[key] = whole[place]
    return whole


def decode_history(
    serde: SerializerProtocol, channels: Sequence[str], reply: Frame
) -> dict[str, DeltaChannelHistory] | None:
    """The data from which delta channels are rebuilt. None: there is no such checkpoint."""
    fields = reply.header.get("history")
    if fields is None:
        return None
    count = len(fields["blobs"])
    stored = _decode_blobs(serde, fields["blobs"], reply.payload[:count])
    written = _decode_writes(serde, fields["writes"], reply.payload[count:])
    history: dict[str, DeltaChannelHistory] = {}
    for name in channels:
        history[name] = {"writes": [write.pending() for write in written if write.channel == name]}
        if name in stored:
            history[name]["seed"] = stored[name]
    return history


def _decode_tuple(
    serde: SerializerProtocol, thread_id: str, fields: Mapping[str, Any], lines: Sequence[bytes]
) -> PlacedCheckpoint:
    ns, checkpoint_id, parent_id = fields["checkpoint_ns"], fields["checkpoint_id"], fields.get("parent_checkpoint_id")
    checkpoint, metadata, *values = lines
    count = len(fields["blobs"])
    channel_values = _decode_blobs(serde, fields["blobs"], values[:count])
    writes = _decode_writes(serde, fields["writes"], values[count:])
    found = CheckpointTuple(
        config=place_config(thread_id, ns, checkpoint_id),
        checkpoint=cast(Checkpoint, {**json.loads(checkpoint), "channel_values": channel_values}),
        metadata=json.loads(metadata),
        parent_config=None if parent_id is None else place_config(thread_id, ns, parent_id),
    )
    return PlacedCheckpoint.of(found, writes)


def _decode_blobs(serde: SerializerProtocol, blobs: Described, lines: Sequence[bytes]) -> dict[str, Any]:
    return {
        blob["channel"]: _decode(serde, blob["type"], line)
        for blob, line in zip(blobs, lines)
        if blob["type"] != "empty"
    }


def _decode_writes(serde: SerializerProtocol, writes: Described, lines: Sequence[bytes]) -> list[PlacedWrite]:
    return [
        PlacedWrite(
            write["task_path"], write["task_id"], write["idx"], write["channel"], _decode(serde, write["type"], line)
        )
        for write, line in zip(writes, lines)
    ]


def _encode(serde: SerializerProtocol, value: Any) -> tuple[str, str]:
    """Plain JSON is encoded as JSON, which every language can read; other values by LangGraph's serialiser."""
    if _is_plain(value):
        return "json", json.dumps(value, separators=(",", ":"))
    kind, data = serde.dumps_typed(_readable(value))
    return kind, data.decode() if kind == "json" else base64.b64encode(data).decode()


def _readable(value: Any) -> Any:
    """LangGraph saves a node's error as its `repr`, which may raise in a user's class."""
    if not isinstance(value, BaseException):
        return value
    try:
        repr(value)
    except Exception:
        return f"{type(value).__name__}: {message_of(value)}"
    return value


def _decode(serde: SerializerProtocol, kind: str, line: bytes) -> Any:
    return serde.loads_typed((kind, line if kind == "json" else base64.b64decode(line)))


def _is_plain(value: Any) -> bool:
    """Whether JSON restores the value unchanged: exactly these types, and no key that LangGraph's serializer treats as
    one of its own objects."""
    kind = type(value)
    if value is None or kind in (str, bool, int):
        return True
    if kind is float:
        return math.isfinite(value)
    if kind is list:
        return all(map(_is_plain, value))
    return kind is dict and "lc" not in value and all(type(key) is str and _is_plain(value[key]) for key in value)
