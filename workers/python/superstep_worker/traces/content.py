"""What went into a span and what came out, as one line of JSON with a limit.

A state that fits costs what its serialisation costs. One that does not fit is never serialised as a whole: it is walked until the
limit is reached, from the end of its lists, since the newest messages tell most. A text says where something is missing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence, Set
from typing import Any

from ..values.serialise import serialise

# A value with deeper levels is cut there; the cycle of a value ends there, too.
_most_levels = 32
# Quotes, commas, a number.
_value_length = 8

# Python makes no text of numbers that have more than 4,300 digits.
_most_digits = 1_000


class _Room:
    def __init__(self, left: int) -> None:
        self.left = left
        self.level = 0


def content_of(value: Any, limit: int) -> tuple[str, bool]:
    """One line of JSON, and whether it was cut. Never raises.

    :param limit: about how many characters the text may have
    """
    try:
        room = _Room(limit)
        _measure(value, room)
        if room.left >= 0:
            text = serialise(value)
            # What a class makes of itself may be larger than its fields.
            if len(text) <= 2 * limit:
                return text, False
        return serialise(_cut(value, _Room(limit))), True
    except Exception:
        # A property of a user's class failed: the trace goes on without this value.
        return '"… (cannot be read)"', True


def _measure(value: Any, room: _Room) -> None:
    room.left -= _value_length
    if isinstance(value, (str, bytes, bytearray)):
        room.left -= len(value)
        return
    if isinstance(value, int):
        digits = _digits(value)
        room.left = -1 if digits > _most_digits else room.left - digits
        return
    if value is None or isinstance(value, float) or room.left < 0:
        return
    if room.level >= _most_levels:
        room.left = -1
        return
    room.level += 1
    if isinstance(value, (Sequence, Set)):
        for each in value:
            _measure(each, room)
            if room.left < 0:
                break
    else:
        for key, each in _fields_of(value).items():
            room.left -= len(str(key))
            _measure(each, room)
            if room.left < 0:
                break
    room.level -= 1


def _fields_of(value: Any) -> Mapping[Any, Any]:
    """What of an object is serialised, or nearly: enough to measure it."""
    if isinstance(value, Mapping):
        return value
    fields: Mapping[str, Any] | None = getattr(value, "__dict__", None)
    if fields is not None:
        return fields
    # Dataclasses with slots, and structs of msgspec, whose text has all fields. The text of other classes with slots is short.
    is_dataclass = dataclasses.is_dataclass(value) and not isinstance(value, type)
    names = [each.name for each in dataclasses.fields(value)] if is_dataclass else getattr(value, "__struct_fields__", ())
    return {name: getattr(value, name) for name in names}


def _digits(number: int) -> int:
    """About how many: three tenths of its bits."""
    return number.bit_length() * 3 // 10


def _cut(value: Any, room: _Room) -> Any:
    room.left -= _value_length
    if isinstance(value, str):
        return _cut_text(value, room)
    if isinstance(value, int):
        digits = _digits(value)
        room.left -= min(digits, _most_digits)
        return value if digits <= _most_digits else f"… (a number of about {digits} digits)"
    if value is None or isinstance(value, float):
        return value
    if room.left <= 0 or room.level >= _most_levels:
        return "… (cut)"
    if isinstance(value, (bytes, bytearray)):
        return f"… ({len(value)} bytes)"
    room.level += 1
    form = _cut_object(value, room)
    room.level -= 1
    return form


def _cut_text(text: str, room: _Room) -> str:
    kept = max(0, min(len(text), room.left))
    room.left -= kept
    return text if kept == len(text) else f"{text[:kept]}… ({len(text) - kept} more characters)"


def _cut_object(value: Any, room: _Room) -> Any:
    if isinstance(value, Set):
        return _cut_list(list(value), room)
    if isinstance(value, Sequence):
        return _cut_list(value, room)
    fields = _fields_of(value)
    if not fields:
        return _cut_text(str(value), room)
    form: dict[str, Any] = {}
    for key, each in fields.items():
        if room.left <= 0:
            form["…"] = "(cut)"
            break
        room.left -= len(str(key))
        form[str(key)] = _cut(each, room)
    return form


def _cut_list(values: Sequence[Any], room: _Room) -> list[Any]:
    """Its last items."""
    kept: list[Any] = []
    first = len(values)
    while first > 0 and room.left > 0:
        first -= 1
        kept.append(_cut(values[first], room))
    if first > 0:
        kept.append(f"… ({first} items before these)")
    return kept[::-1]
