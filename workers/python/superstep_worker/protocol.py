"""Checks the headers that a server sends (protocol/worker/frames.schema.json)."""

from __future__ import annotations

from .frames import Header, ProtocolError
from .header_fields import calls, frames


def check_header(header: Header) -> None:
    """:raises ProtocolError: the type is unknown, or a field is missing or of another kind"""
    kind = header.get("type")
    # The runner answers a call of an unknown method: that is not an error of the server.
    fields = calls.get(str(header.get("method")), {"call_id": str}) if kind == "call" else frames.get(str(kind))
    if fields is None:
        raise ProtocolError(f"cannot understand a frame of type {kind}")
    wrong = [name for name, wanted in fields.items() if not isinstance(header.get(name), wanted)]
    if wrong:
        raise ProtocolError(f"a frame of type {kind} has no valid {', '.join(wrong)}")
