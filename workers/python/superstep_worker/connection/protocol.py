"""Checks the headers that a server sends, with the validators that are generated from protocol/worker/frames.schema.json."""

from __future__ import annotations

from .frames import Header, ProtocolError
from .header_fields import Fields, calls, frames


def check_header(header: Header) -> None:
    """:raises ProtocolError: the type is unknown, or a field is missing or invalid"""
    kind = header.get("type")
    fields = frames.get(str(kind))
    if fields is None:
        raise ProtocolError(f"cannot understand a frame of type {kind}")
    _check(kind, header, fields)
    # The runner answers a call of an unknown method: that is not an error of the server.
    if kind == "call" and (fields := calls.get(header["method"])) is not None:
        _check(kind, header, fields)


def _check(kind: object, header: Header, fields: Fields) -> None:
    required, validators = fields
    wrong = [name for name in required if name not in header]
    # Unknown fields are ignored.
    wrong += [name for name, value in header.items() if name in validators and not validators[name](value)]
    if wrong:
        raise ProtocolError(f"a frame of type {kind} has no valid {', '.join(wrong)}")
