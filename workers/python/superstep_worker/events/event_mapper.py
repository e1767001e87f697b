"""Maps LangGraph's stream to the events of the wire (agent-server API §7.4 to §7.7). Interrupts have LangGraph's form:
`{"__interrupt__": […]}` on `updates` and `values`; an empty list is a breakpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..checkpoints.checkpoint_payload import checkpoint_payload, debug_payload
from .legacy_messages import LegacyMessages
from .protocol_events import ProtocolEvents
from .wire_event import WireEvent


class EventMapper:
    """Maps the items of one run, in order: to the events that its stream modes ask for, and to its protocol events beside
    them."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        """:param asked: the header of the `run` frame. Protocol events need namespaces even where the run's other events come from
        the root only."""
        #: Makes the protocol events, if the run has them.
        self.protocol = ProtocolEvents() if asked.get("protocol_events") else None
        self._modes = set(asked["stream_modes"])
        self._subgraphs: bool = asked["stream_subgraphs"]
        self._legacy = LegacyMessages() if "messages" in self._modes else None
        self._root_id: str | None = None

    def from_chunk(self, chunk: Any) -> Iterator[WireEvent]:
        """:param chunk: `(mode, payload)`, or `(namespace, mode, payload)` when subgraphs are streamed"""
        if self.protocol is None:
            yield from self._asked_for(chunk if self._subgraphs else ((), *chunk))
            return
        own = list(self._asked_for(chunk)) if self._subgraphs or not chunk[0] else []
        yield from self.protocol.beside(chunk, own)

    def from_root(self, mode: str, payload: Any) -> Iterator[WireEvent]:
        """The events of a chunk of the root graph."""
        is_deep = self._subgraphs or self.protocol is not None
        return self.from_chunk(((), mode, payload) if is_deep else (mode, payload))

    def _asked_for(self, chunk: Any) -> Iterator[WireEvent]:
        namespace, mode, payload = chunk
        if ("messages-tuple" if mode == "messages" else mode) in self._modes:
            yield WireEvent("|".join((mode, *namespace)), _shaped(mode, payload))
        if self._legacy is not None and mode == "values" and not namespace:
            yield from self._legacy.on_values(payload)

    def from_langchain_event(self, event: Mapping[str, Any]) -> Iterator[WireEvent]:
        """:param event: an event of `astream_events`, which also contain the root's stream chunks; the root's start is first"""
        if self._root_id is None:
            self._root_id = event["run_id"]
        if event["event"] == "on_chain_stream" and event["run_id"] == self._root_id:
            yield from self.from_chunk(event["data"]["chunk"])
            return
        if "events" in self._modes and "langsmith:hidden" not in event.get("tags", ()):
            yield WireEvent("events", event)
        if self._legacy is not None:
            yield from self._legacy.on_langchain_event(event)


def _shaped(mode: str, payload: Any) -> Any:
    if mode == "checkpoints":
        return checkpoint_payload(payload)
    return debug_payload(payload) if mode == "debug" else payload
