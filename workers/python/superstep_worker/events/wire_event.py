"""One event of a run's stream."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..values.serialise import serialise


class SharedJson:
    """The JSON text of a value, made once, when it is first needed."""

    def __init__(self, value: Any) -> None:
        self._value = value
        self._text: str | None = None

    def text(self) -> str:
        if self._text is None:
            self._text = serialise(self._value)
        return self._text


class WireEvent(NamedTuple):
    #: As on the wire: `updates`, `updates|sub:<task>`.
    name: str
    #: The graph's value that the event shows.
    data: Any
    #: The event's JSON text, when it is not that of `data`.
    text: str | None = None
    #: The JSON text of `data`, which other events may have, too (W6).
    json: SharedJson | None = None
    #: What stands before and after the JSON text of `data`.
    around: tuple[str, str] = ("", "")


def event_text(event: WireEvent) -> str:
    if event.text is not None:
        return event.text
    inner = serialise(event.data) if event.json is None else event.json.text()
    before, after = event.around
    return f"{before}{inner}{after}"
