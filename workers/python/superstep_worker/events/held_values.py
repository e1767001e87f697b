"""Values that wait for their checkpoint, which LangGraph for Python streams right after them, and the first values of a subgraph,
which wait for its first task. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from .protocol_event import Namespace
from .wire_event import WireEvent


@dataclass
class _Held:
    events: list[WireEvent] = field(default_factory=list)
    #: Whether the last event is a `values` whose checkpoint has not come.
    awaits_checkpoint: bool = False


class HeldValues:
    def __init__(self) -> None:
        self._held: dict[tuple[str, ...], _Held] = {}

    def values(self, namespace: Namespace, event: WireEvent) -> None:
        held = self._held.setdefault(tuple(namespace), _Held())
        held.events.append(event)
        held.awaits_checkpoint = True

    def checkpoint(self, namespace: Namespace, event: WireEvent, is_started: bool) -> list[WireEvent]:
        """A checkpoint without values is not sent.

        :param is_started: whether the subgraph's start is already sent
        :returns: the events to send now
        """
        held = self._held.get(tuple(namespace))
        if held is None or not held.awaits_checkpoint:
            return []
        held.events.insert(-1, event)
        held.awaits_checkpoint = False
        return self.release(namespace) if is_started else []

    def namespaces(self) -> list[tuple[str, ...]]:
        return list(self._held)

    def release(self, namespace: Namespace) -> list[WireEvent]:
        """What waits in a namespace; called when it sends another event, too."""
        held = self._held.pop(tuple(namespace), None)
        return [] if held is None else held.events
