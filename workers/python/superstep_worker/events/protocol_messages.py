"""The messages of one run as protocol events. A message is open from its first chunk until its task ends or returns it; then it
is forgotten. No message stays open: what was started is finished, or ends with `error`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, BaseMessageChunk

from .content_slices import slices_of, whole_blocks
from .message_stream import MessageStream
from .protocol_event import Namespace, protocol_event
from .wire_event import WireEvent

# A tool's result is on the channel `tools`, and in `values`.
_unshown_types = ("tool", "ToolMessageChunk", "remove")
_roles = {"human": "human", "HumanMessageChunk": "human", "system": "system", "SystemMessageChunk": "system"}


@dataclass(frozen=True)
class _OpenMessage:
    stream: MessageStream
    #: Of the graph that the message was made in.
    namespace: Namespace
    #: The path of the task that makes the message: it ends with it.
    task: Namespace


class ProtocolMessages:
    def __init__(self) -> None:
        self._open: dict[str, _OpenMessage] = {}

    def take(self, namespace: Namespace, payload: tuple[Any, Mapping[str, Any]]) -> Iterator[WireEvent]:
        """:param payload: of the stream mode `messages`: a message or a chunk of one, and its metadata"""
        message, metadata = payload
        if not isinstance(message, BaseMessage) or message.id is None or message.type in _unshown_types:
            return
        is_new = message.id not in self._open
        if is_new:
            stream = MessageStream(message.id, _roles.get(message.type))
            self._open[message.id] = _OpenMessage(stream, namespace, _task_of(metadata, namespace))
        open_message = self._open[message.id]
        yield from self._events(open_message, _texts(open_message.stream, message, is_new))
        if not isinstance(message, BaseMessageChunk) or getattr(message, "chunk_position", None) == "last":
            yield from self._finish(message.id)

    def returned(self, update: Any) -> Iterator[WireEvent]:
        """Finishes the messages that a node has returned.

        :param update: the node's result
        """
        if not self._open or not isinstance(update, Mapping):
            return
        for value in update.values():
            for each in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(each, BaseMessage) and each.id is not None:
                    yield from self._finish(each.id)

    def end(self, task: Namespace, failure: str | None = None) -> Iterator[WireEvent]:
        """Ends the messages of a task and of what it called.

        :param failure: why they will not be completed; None when they are complete
        """
        for message_id, message in list(self._open.items()):
            if list(message.task[: len(task)]) != list(task):
                continue
            if failure is None:
                yield from self._finish(message_id)
            else:
                del self._open[message_id]
                yield from self._events(message, (message.stream.fail(failure),))

    def _finish(self, message_id: str) -> Iterator[WireEvent]:
        message = self._open.pop(message_id, None)
        if message is not None:
            yield from self._events(message, message.stream.finish())

    def _events(self, message: _OpenMessage, texts: Iterable[str]) -> Iterator[WireEvent]:
        for text in texts:
            yield protocol_event("messages", message.namespace, text=text)


def _texts(stream: MessageStream, message: BaseMessage, is_new: bool) -> Iterator[str]:
    if is_new:
        yield stream.start()
    if isinstance(message, BaseMessageChunk):
        slices = slices_of(message)
    else:
        # A whole message with the id of an open one repeats its content.
        slices = whole_blocks(message) if is_new else []
    now_ms = time.monotonic() * 1000
    for each in slices:
        yield from stream.content(each, now_ms)
    usage = getattr(message, "usage_metadata", None)
    if usage:
        yield stream.usage(usage)
    reason = message.response_metadata.get("finish_reason") or message.response_metadata.get("stop_reason")
    if isinstance(reason, str):
        stream.reason(reason)


def _task_of(metadata: Mapping[str, Any], namespace: Namespace) -> Namespace:
    path = metadata.get("langgraph_checkpoint_ns")
    return path.split("|") if isinstance(path, str) else namespace
