"""A message's content as content blocks: in LangChain's own translation where its version has one, else in a plain one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain_core.messages import BaseMessage

from .message_stream import Slice

_standard_types = {
    "text", "tool_call", "tool_call_chunk", "invalid_tool_call", "server_tool_call", "server_tool_call_chunk",
    "server_tool_call_result", "server_tool_result", "image", "audio", "video", "file", "text-plain",
}  # fmt: skip
#: The forms in which content repeats a tool call.
_call_types = {"tool_call", "tool_call_chunk", "invalid_tool_call"}
_provider_call_types = {"tool_use", "input_json_delta", "functionCall", "function_call"}


def slices_of(chunk: BaseMessage) -> list[Slice]:
    """The content of one chunk of a message."""
    content, calls = chunk.content, getattr(chunk, "tool_call_chunks", None) or []
    # Nearly every token is of this form.
    if isinstance(content, str) and not calls and not chunk.additional_kwargs:
        return [{"type": "text", "text": content}] if content else []
    blocks = [block for block in _blocks_of(chunk) if not _is_call(block)]
    return [*blocks, *({**call, "type": "tool_call_chunk"} for call in calls)]


def whole_blocks(message: BaseMessage) -> list[Slice]:
    """The content of a whole message."""
    blocks = [block for block in _blocks_of(message) if block["type"] == "tool_call" or not _is_call(block)]
    known = {block.get("id") for block in blocks if block["type"] == "tool_call"}
    calls = [call for call in getattr(message, "tool_calls", None) or [] if call["id"] not in known]
    return [*blocks, *({**call, "type": "tool_call"} for call in calls)]


def _blocks_of(message: BaseMessage) -> list[Slice]:
    try:
        # The property fails for content that its translator does not expect.
        blocks: Any = message.content_blocks
        return [dict(_standard(block)) for block in blocks]
    except Exception:
        return list(_plain_blocks(message.content))


def _plain_blocks(content: Any) -> Iterator[Slice]:
    if isinstance(content, str):
        if content:
            yield {"type": "text", "text": content}
        return
    for part in content:
        if isinstance(part, dict):
            yield _plain_block(part)
        elif isinstance(part, str):
            yield {"type": "text", "text": part}


def _standard(block: Slice) -> Slice:
    """The parts of older or unknown providers that LangChain leaves as they are."""
    value = block.get("value")
    return _plain_block(value) if block.get("type") == "non_standard" and isinstance(value, dict) else block


def _plain_block(part: Slice) -> Slice:
    kind = part.get("type")
    numbered = {"index": part["index"]} if part.get("index") is not None else {}
    if kind in ("thinking", "reasoning"):
        text = part.get("reasoning", part.get("thinking", ""))
        extras = {"extras": {"signature": part["signature"]}} if part.get("signature") else {}
        return {"type": "reasoning", "reasoning": text, **numbered, **extras}
    return part if kind in _standard_types else {"type": "non_standard", "value": part, **numbered}


def _is_call(block: Slice) -> bool:
    value = block.get("value")
    is_provider_call = isinstance(value, dict) and value.get("type") in _provider_call_types
    return block["type"] in _call_types or (block["type"] == "non_standard" and is_provider_call)
