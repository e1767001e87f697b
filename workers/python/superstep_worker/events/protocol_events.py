"""The protocol events of one run, from the chunks of LangGraph's stream (protocol/worker README, "Protocol events"). The
channels, their data and the order of events are the same as in JavaScript, where the protocol allows it.

A `checkpoints` event stands right before the `values` that it belongs to. LangGraph streams it after the values, which wait
for it here. The first values of a subgraph wait for its first task, whose metadata has the agent's name for `started`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..values.serialise import message_of, serialise
from .held_values import HeldValues
from .protocol_event import Namespace, protocol_event
from .protocol_messages import ProtocolMessages
from .subgraph_lifecycle import SubgraphLifecycle, Terminal, task_path
from .wire_event import SharedJson, WireEvent


class ProtocolEvents:
    def __init__(self) -> None:
        self._messages = ProtocolMessages()
        self._lifecycle = SubgraphLifecycle()
        self._held = HeldValues()
        # Interrupts that were reported; one from a subgraph comes again from each graph around it.
        self._requested: set[str] = set()

    def beside(self, chunk: Any, own: Sequence[WireEvent]) -> Iterator[WireEvent]:
        """All events of a chunk. A value that is in both forms is serialised once.

        :param chunk: `(namespace, mode, payload)`
        :param own: the events of the chunk that the run's stream modes ask for
        """
        namespace, mode, payload = chunk
        json = SharedJson(payload) if own else None
        events = list(self._from_chunk(namespace, mode, payload, json))
        for event in own:
            yield event if json is None or event.data is not payload else _shared(event, json, events)
        yield from events

    def flush(self) -> Iterator[WireEvent]:
        """What waits for something that may not come. Called before a checkpoint is saved, and when the stream is over."""
        for namespace in self._held.namespaces():
            yield from self._lifecycle.start(namespace)
            yield from self._held.release(namespace)

    def end(self, status: Terminal, failure: str | None = None) -> Iterator[WireEvent]:
        """Ends messages and subgraphs that are left when the run ends.

        :param failure: why messages are not completed
        """
        yield from self.flush()
        yield from self._messages.end((), failure)
        yield from self._lifecycle.end(status)

    def _from_chunk(self, namespace: Namespace, mode: str, payload: Any, json: SharedJson | None) -> Iterable[WireEvent]:
        if mode == "messages":
            return self._begun(namespace, self._messages.take(namespace, payload))
        if mode == "values":
            return self._values(namespace, payload, json)
        if mode == "checkpoints":
            return self._checkpoint(namespace, payload)
        if mode == "tasks":
            return self._begun(namespace, self._task(namespace, payload, json), payload)
        if mode == "updates":
            return self._begun(namespace, self._updates(namespace, payload))
        if mode == "custom":
            return self._begun(namespace, (_custom(namespace, payload, json),))
        if mode == "tools":
            return self._begun(namespace, (protocol_event("tools", namespace, payload, json=json),))
        return ()

    def _begun(self, namespace: Namespace, events: Iterable[WireEvent], task: Any = None) -> Iterator[WireEvent]:
        """Events, after the start of their namespace and after what waits in it."""
        if not self._lifecycle.is_started(namespace):
            name = (task or {}).get("metadata", {}).get("lc_agent_name")
            yield from self._lifecycle.start(namespace, name if isinstance(name, str) and name else None)
        yield from self._held.release(namespace)
        yield from events

    def _values(self, namespace: Namespace, payload: Any, json: SharedJson | None) -> Iterable[WireEvent]:
        # An interrupt is reported by `input.requested`; the state is that of the values before.
        if not isinstance(payload, Mapping) or "__interrupt__" not in payload:
            self._held.values(namespace, protocol_event("values", namespace, payload, json=json))
        return ()

    def _checkpoint(self, namespace: Namespace, payload: Mapping[str, Any]) -> Iterable[WireEvent]:
        metadata = payload["metadata"]
        parent = _checkpoint_id(payload.get("parent_config"))
        data = {
            "id": _checkpoint_id(payload["config"]),
            **({} if parent is None else {"parent_id": parent}),
            "step": metadata.get("step"),
            "source": metadata.get("source"),
        }
        event = protocol_event("checkpoints", namespace, text=serialise(data))
        return self._held.checkpoint(namespace, event, self._lifecycle.is_started(namespace))

    def _updates(self, namespace: Namespace, payload: Any) -> Iterator[WireEvent]:
        if not isinstance(payload, Mapping):
            return
        for node, update in payload.items():
            if node == "__interrupt__":
                yield from self._interrupts(namespace, update)
            elif node != "__metadata__":
                yield from self._messages.returned(update)
                is_object = isinstance(update, (Mapping, list, tuple)) or hasattr(update, "__dict__")
                around = ("", "") if is_object else ('{"value":', "}")
                json = SharedJson(update)
                yield protocol_event("updates", namespace, update, node=node, json=json, around=around)

    def _interrupts(self, namespace: Namespace, interrupts: Sequence[Any]) -> Iterator[WireEvent]:
        for each in interrupts:
            fields = each if isinstance(each, Mapping) else {"id": each.id, "value": each.value}
            if fields["id"] in self._requested:
                continue
            self._requested.add(fields["id"])
            value = serialise(fields["value"])
            # JavaScript clients read `payload`, Python's read `value`.
            text = f'{{"interrupt_id":{serialise(fields["id"])},"payload":{value},"value":{value}}}'
            yield protocol_event("input.requested", namespace, {"__interrupt__": [each]}, text=text)

    def _task(self, namespace: Namespace, task: Mapping[str, Any], json: SharedJson | None) -> Iterator[WireEvent]:
        event = protocol_event("tasks", namespace, task, json=json)
        if "result" not in task:
            self._lifecycle.task_starts(namespace, task)
            yield event
            return
        error, interrupts = task.get("error"), task.get("interrupts") or ()
        status: Terminal = "failed" if error is not None else "interrupted" if interrupts else "completed"
        yield from self._messages.end(task_path(namespace, task), None if error is None else message_of(error))
        yield from self._interrupts(namespace, interrupts)
        yield event
        yield from self._lifecycle.task_ends(namespace, task, status, task)


def _shared(event: WireEvent, json: SharedJson, protocol: Sequence[WireEvent]) -> WireEvent:
    """The same JSON for both forms of an event. The protocol's `updates` shows the node's part of the other one."""
    if event.name.partition("|")[0] == "updates" and isinstance(event.data, Mapping) and len(event.data) == 1:
        [(node, update)] = event.data.items()
        for each in protocol:
            if each.name.startswith("protocol:updates") and each.data is update and each.json is not None:
                return event._replace(json=each.json, around=(f"{{{serialise(node)}:", "}"))
    return event._replace(json=json)


def _custom(namespace: Namespace, payload: Any, json: SharedJson | None) -> WireEvent:
    name = _custom_name(payload)
    if name is not None:
        return protocol_event(f"custom:{name}", namespace, payload, json=json)
    return protocol_event("custom", namespace, payload, json=json, around=('{"payload":', "}"))


def _custom_name(payload: Any) -> str | None:
    try:
        name = payload.get("name") if isinstance(payload, Mapping) else None
        return None if name is None else str(name)
    except Exception:
        # A name of a user's class that has no text.
        return None


def _checkpoint_id(config: Mapping[str, Any] | None) -> Any:
    return None if config is None else config.get("configurable", {}).get("checkpoint_id")
