"""Protocol events as the worker's events: their name and their text (protocol/worker README, "Protocol events")."""

from __future__ import annotations

import json as json_format
import time
from collections.abc import Sequence
from typing import Any

from .wire_event import SharedJson, WireEvent

Namespace = Sequence[str]


def protocol_event(
    channel: str,
    namespace: Namespace,
    data: Any = None,
    *,
    node: str | None = None,
    text: str | None = None,
    json: SharedJson | None = None,
    around: tuple[str, str] = ("", ""),
) -> WireEvent:
    """
    :param channel: `values`, `messages`, `custom:<name>` …
    :param data: the graph's value that the event shows. Events that report an interrupt are recognised by it
    :param text: the JSON of the event's data, when it is not that of `data`
    :param json: the JSON of `data`, if another event shows it, too
    :param around: what stands before and after the JSON of `data`
    """
    method = "custom" if channel.startswith("custom:") else channel
    path = json_format.dumps(list(namespace), separators=(",", ":"), ensure_ascii=False)
    named = "" if node is None else f',"node":{json_format.dumps(node, ensure_ascii=False)}'
    now = int(time.time() * 1000)
    head = f'{{"method":"{method}","params":{{"namespace":{path},"timestamp":{now}{named},"data":'
    name = "|".join((f"protocol:{channel}", *namespace))
    if text is not None:
        return WireEvent(name, data, f"{head}{text}}}}}")
    return WireEvent(name, data, None, json, (f"{head}{around[0]}", f"{around[1]}}}}}"))
