"""The stream mode `messages` of older clients: `messages/metadata` once for each message, `messages/partial` with the message so
far, `messages/complete` with messages that are in the state (agent-server API §7.6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import BaseMessage, BaseMessageChunk

from .wire_event import WireEvent


class LegacyMessages:
    def __init__(self) -> None:
        # By message id: the message so far.
        self._partials: dict[str, BaseMessageChunk] = {}
        self._completed: set[str] = set()

    def on_langchain_event(self, event: Mapping[str, Any]) -> Iterator[WireEvent]:
        """:param event: a LangChain stream event of any kind"""
        if event["event"] != "on_chat_model_stream" or "nostream" in event.get("tags", ()):
            return
        chunk = event["data"].get("chunk")
        if not isinstance(chunk, BaseMessageChunk) or chunk.id is None:
            return
        before = self._partials.get(chunk.id)
        message = chunk if before is None else before + chunk
        # Adding a list of chunks would give a list.
        assert isinstance(message, BaseMessageChunk)
        self._partials[chunk.id] = message
        if before is None:
            yield WireEvent("messages/metadata", {chunk.id: {"metadata": event.get("metadata")}})
        yield WireEvent("messages/partial", [message])

    def on_values(self, values: Any) -> Iterator[WireEvent]:
        """The messages of the root's state that were not yet reported as complete."""
        if not isinstance(values, Mapping):
            return
        lists = [value for value in values.values() if isinstance(value, list)]
        messages = [each for value in lists for each in value if isinstance(each, BaseMessage)]
        fresh = [each for each in messages if each.id is None or each.id not in self._completed]
        self._completed.update(each.id for each in fresh if each.id is not None)
        if fresh:
            yield WireEvent("messages/complete", fresh)
