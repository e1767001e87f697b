"""From what LangGraph streams to the events of the wire (agent-server API §7.4 to §7.7). Interrupts come as LangGraph
sends them: `{"__interrupt__": […]}` on `updates` and `values`; an empty list is a breakpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .checkpoint_payload import checkpoint_payload, debug_payload


class WireEvent(NamedTuple):
    #: As on the wire: `updates`, `updates|sub:<task>`.
    name: str
    data: Any


class EventMapper:
    """Maps the items of one run, in order."""

    def __init__(self, modes: Sequence[str], subgraphs: bool) -> None:
        self._modes = set(modes)
        self._subgraphs = subgraphs
        self._root_id: str | None = None

    def from_chunk(self, chunk: Any) -> Iterator[WireEvent]:
        """:param chunk: `(mode, payload)`, or `(namespace, mode, payload)` when subgraphs are streamed"""
        namespace, mode, payload = chunk if self._subgraphs else ((), *chunk)
        if mode in self._modes or (mode == "messages" and "messages-tuple" in self._modes):
            yield WireEvent("|".join((mode, *namespace)), _shaped(mode, payload))

    def from_langchain_event(self, event: Mapping[str, Any]) -> Iterator[WireEvent]:
        """:param event: of `astream_events`; the root's stream chunks are in there too, and its start is the first"""
        if self._root_id is None:
            self._root_id = event["run_id"]
        if event["event"] == "on_chain_stream" and event["run_id"] == self._root_id:
            yield from self.from_chunk(event["data"]["chunk"])
        elif "langsmith:hidden" not in event.get("tags", ()):
            yield WireEvent("events", event)


def _shaped(mode: str, payload: Any) -> Any:
    if mode == "checkpoints":
        return checkpoint_payload(payload)
    return debug_payload(payload) if mode == "debug" else payload
