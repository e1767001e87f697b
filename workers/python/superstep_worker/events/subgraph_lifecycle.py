"""The `lifecycle` events of subgraphs: `started` at the first event of a namespace; `completed`, `failed` or `interrupted` when
the task that it belongs to has its result, or when the run ends. Pure.

A subgraph of a named agent has the agent's name and the tool call that started it. A namespace is forgotten when it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from .protocol_event import Namespace, protocol_event
from .wire_event import WireEvent

Terminal = Literal["completed", "failed", "interrupted"]


class SubgraphLifecycle:
    def __init__(self) -> None:
        # The names of graphs by their namespace, in the order in which they started.
        self._started: dict[tuple[str, ...], str] = {}
        # By the path of a task that executes: the tool call in its input.
        self._tool_calls: dict[tuple[str, ...], str] = {}

    def is_started(self, namespace: Namespace) -> bool:
        return not namespace or tuple(namespace) in self._started

    def start(self, namespace: Namespace, agent_name: str | None = None) -> Iterator[WireEvent]:
        """Called before the first event of a namespace.

        :param agent_name: the name of the agent whose graph it is, from its tasks' metadata
        """
        for end in range(1, len(namespace) + 1):
            path = tuple(namespace[:end])
            if path not in self._started:
                yield self._start(path, agent_name if end == len(namespace) else None)

    def task_starts(self, namespace: Namespace, task: Mapping[str, Any]) -> None:
        """:param namespace: of the graph whose task starts"""
        call = _tool_call_of(task.get("input"))
        if call is not None:
            self._tool_calls[task_path(namespace, task)] = call

    def task_ends(
        self, namespace: Namespace, task: Mapping[str, Any], status: Terminal, data: Any
    ) -> Iterator[WireEvent]:
        """:param data: the task's payload, by which an event that reports an interrupt is recognised"""
        path = task_path(namespace, task)
        self._tool_calls.pop(path, None)
        yield from self._end(path, status, data)

    def end(self, status: Terminal) -> Iterator[WireEvent]:
        """Ends all that are left."""
        yield from self._end((), status)

    def _start(self, path: tuple[str, ...], agent_name: str | None) -> WireEvent:
        graph_name = self._started[path] = agent_name or path[-1].split(":")[0]
        call = None if agent_name is None else self._tool_calls.get(path)
        cause = {} if call is None else {"cause": {"type": "toolCall", "tool_call_id": call}}
        return _lifecycle_event(path, {"event": "started", "graph_name": graph_name, **cause})

    def _end(self, path: tuple[str, ...], status: Terminal, data: Any = None) -> Iterator[WireEvent]:
        # Inner namespaces end before outer ones.
        for below in [each for each in reversed(self._started) if each[: len(path)] == path]:
            graph_name = self._started.pop(below)
            yield _lifecycle_event(below, {"event": status, "graph_name": graph_name}, data)


def task_path(namespace: Namespace, task: Mapping[str, Any]) -> tuple[str, ...]:
    return (*namespace, f"{task['name']}:{task['id']}")


def _lifecycle_event(namespace: Namespace, event: Mapping[str, Any], data: Any = None) -> WireEvent:
    text = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
    return protocol_event("lifecycle", namespace, data, text=text)


def _tool_call_of(task_input: Any) -> str | None:
    """An agent's tool node gets its tool call as `{tool_call: {id}}`, or a list of tool calls in older versions."""
    if isinstance(task_input, Mapping):
        calls = [task_input.get("tool_call")]
    else:
        calls = list(task_input) if isinstance(task_input, (list, tuple)) else []
    ids = [call.get("id") for call in calls if isinstance(call, Mapping)]
    return next((each for each in ids if isinstance(each, str)), None)
