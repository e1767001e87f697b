"""One event of a run's stream."""

from __future__ import annotations

from typing import Any, NamedTuple


class WireEvent(NamedTuple):
    #: As on the wire: `updates`, `updates|sub:<task>`.
    name: str
    data: Any
