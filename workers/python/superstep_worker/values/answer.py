"""The content of a reply to a call of the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..connection.connection import Lines
from .serialise import serialise


@dataclass(frozen=True)
class Answer:
    #: Fields of the reply's header.
    fields: Mapping[str, Any]
    lines: Lines = ()

    @staticmethod
    def line(name: str, value: Any) -> Answer:
        return Answer({}, [(name, serialise(value))])
