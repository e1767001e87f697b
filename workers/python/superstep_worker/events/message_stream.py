"""The events of one message, from its start to its end: pure, and the same in both languages
(`workers/js/src/events/message-stream.ts`).

It takes slices of content blocks in LangChain's form and returns the data of protocol events as JSON text, in this order:
`message-start`, then for each block `content-block-start` and `content-block-delta`, `usage` as it arrives, and at the end
`content-block-finish` for each block and `message-finish`, or `error` instead. It sends the arguments of a tool call as a
`block-delta` with all arguments so far, since clients before SDK 1.12.6 fail on `tool-call-delta`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..values.serialise import serialise

#: A part of a content block, or a whole block; `type` says which fields it has.
Slice = Mapping[str, Any]

#: Arguments so far are sent again and again, so a long tool call may send them only this often, in milliseconds.
_arguments_interval_ms = 50

_call_chunks = ("tool_call_chunk", "server_tool_call_chunk")
_heavy = ("args", "data", "output", "transcript", "value")
_growing = ("text", "reasoning", "args", "data")


@dataclass
class _OpenBlock:
    index: int
    fields: dict[str, Any]
    #: When its arguments were sent last.
    arguments_sent_ms: float = float("-inf")


class MessageStream:
    def __init__(self, message_id: str, role: str | None = None) -> None:
        """:param role: `human` or `system`; None for a model's message"""
        self._role = role
        # SDKs assign events to a message by these: JavaScript by `run_id`, Python by `id`.
        run_id = re.sub(r"^(lc_)?run-+", "", message_id)
        self._ids = f',"id":{_text(message_id)},"run_id":{_text(run_id)}}}'
        self._blocks: dict[str, _OpenBlock] = {}
        # The key of the tool call that a slice without an index continues.
        self._last_call: str | None = None
        self._usage: dict[str, Any] | None = None
        self._reason = "stop"

    def start(self) -> str:
        return self._event('"message-start"' + ("" if self._role is None else f',"role":{_text(self._role)}'))

    def content(self, piece: Slice, now_ms: float) -> Iterator[str]:
        """:param now_ms: the time, which decides whether arguments are sent now or later"""
        if piece.get("type") == "text" and piece.get("text") == "" and piece.get("index") is None:
            return
        key = self._key_of(piece)
        block = self._blocks.get(key)
        if block is None:
            block = self._blocks[key] = _OpenBlock(len(self._blocks), {n: v for n, v in piece.items() if n != "index"})
            content = serialise(_skeleton(block.fields, block.index))
            yield self._event(f'"content-block-start","index":{block.index},"content":{content}')
        else:
            _merge(block.fields, piece)
        delta = self._arguments_delta(block, piece, now_ms) if piece["type"] in _call_chunks else _delta_of(piece)
        if delta is not None:
            yield self._event(f'"content-block-delta","index":{block.index},"delta":{delta}')

    def usage(self, usage: Mapping[str, Any]) -> str:
        """:param usage: the tokens used since the previous call"""
        self._usage = dict(usage) if self._usage is None else _sum(self._usage, usage)
        return self._event(f'"usage","usage":{serialise(self._usage)}')

    def reason(self, reason: str) -> None:
        """The provider's reason why the message ends; the last one counts."""
        self._reason = reason

    def finish(self) -> Iterator[str]:
        for block in self._blocks.values():
            content = serialise(_finished(block.fields))
            yield self._event(f'"content-block-finish","index":{block.index},"content":{content}')
        usage = "" if self._usage is None else f',"usage":{serialise(self._usage)}'
        yield self._event(f'"message-finish","reason":{_text(self._reason)}{usage}')

    def fail(self, message: str) -> str:
        """The end of a message that will not be completed."""
        return self._event(f'"error","message":{_text(message)}')

    def _event(self, fields: str) -> str:
        return f'{{"event":{fields}{self._ids}'

    def _arguments_delta(self, block: _OpenBlock, piece: Slice, now_ms: float) -> str | None:
        if not piece.get("args") or now_ms - block.arguments_sent_ms < _arguments_interval_ms:
            return None
        block.arguments_sent_ms = now_ms
        names = ("type", "id", "name", "args")
        fields = {name: block.fields[name] for name in names if block.fields.get(name) is not None}
        return serialise({"type": "block-delta", "fields": fields})

    def _key_of(self, piece: Slice) -> str:
        """Slices of one block have the same key. Providers number their blocks, or send blocks without a number one after
        another."""
        kind, index = piece["type"], piece.get("index")
        if kind in _call_chunks:
            is_new = self._last_call is None or bool(piece.get("id")) or bool(piece.get("name"))
            unnumbered = f"{kind}#{len(self._blocks)}" if is_new else self._last_call or ""
            self._last_call = unnumbered if index is None else f"{kind}:{index}"
            return self._last_call
        if index is not None:
            return f"{kind}:{index}"
        if kind in ("text", "reasoning"):
            return str(kind)
        is_data = isinstance(piece.get("data"), str) and piece.get("id")
        return f"{kind}:{piece['id']}" if is_data else f"{kind}#{len(self._blocks)}"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _skeleton(fields: Mapping[str, Any], index: int) -> Mapping[str, Any]:
    """The block as it starts: what deltas or its end will bring is left out."""
    kind = fields["type"]
    if kind == "text":
        return {**_without(fields, ("annotations",)), "text": ""}
    if kind == "reasoning":
        return {**fields, "reasoning": ""}
    if kind in _call_chunks:
        known = {name: fields[name] for name in ("type", "id", "name") if fields.get(name) is not None}
        return {**known, "args": "", "index": index}
    rest = _without(fields, _heavy)
    if kind in ("tool_call", "server_tool_call"):
        return {**rest, "args": {}}
    return {**rest, "value": {}} if kind == "non_standard" else rest


def _delta_of(piece: Slice) -> str | None:
    kind = piece["type"]
    if kind in ("text", "reasoning"):
        return f'{{"type":"{kind}-delta","{kind}":{_text(piece[kind])}}}' if piece.get(kind) else None
    data = piece.get("data")
    if not isinstance(data, str) or not data:
        return None
    return f'{{"type":"data-delta","data":{_text(data)},"encoding":"base64"}}'


def _merge(fields: dict[str, Any], piece: Slice) -> None:
    """Some fields grow with each slice; of others the last value counts."""
    for name, value in piece.items():
        if name == "index" or value is None:
            continue
        if name in _growing and isinstance(value, str):
            fields[name] = (fields.get(name) or "") + value
        elif name == "extras":
            fields[name] = {**(fields.get(name) or {}), **value}
        elif value != "":
            fields[name] = value


def _finished(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The whole block. Arguments that are not JSON give an `invalid_tool_call`."""
    if fields["type"] not in _call_chunks:
        return fields
    call = {"id": fields.get("id"), "name": fields.get("name")}
    text = fields.get("args") or "{}"
    try:
        return {"type": str(fields["type"]).replace("_chunk", ""), **call, "args": json.loads(text)}
    except ValueError:
        error = "The arguments are not valid JSON."
        return {"type": "invalid_tool_call", **call, "args": text, "error": error}


def _sum(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    """Adds up the numbers of two usages, also of their details."""
    total = dict(a)
    for name, value in b.items():
        before = total.get(name)
        if isinstance(before, (int, float)) and isinstance(value, (int, float)):
            total[name] = before + value
        elif isinstance(before, Mapping) and isinstance(value, Mapping):
            total[name] = _sum(before, value)
        else:
            total[name] = value
    return total


def _without(fields: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}
