"""Values of a graph as one line of JSON in the wire's form (agent-server API §2.11, §2.12): messages flat with their
`type`, models and dataclasses as objects, errors as `{error, message}`, sets as lists, bytes as base64, NaN as null."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import traceback
from collections import deque
from collections.abc import Mapping, Set
from datetime import date, time, timedelta
from enum import Enum
from typing import Any

from ..connection.connection import CallFailed


def serialise(value: Any) -> str:
    """One pass over the value. Never raises: a cycle becomes `[Circular]`, a value whose own serialisation fails becomes
    `[Unserialisable: why]`."""
    try:
        return json.dumps(value, default=_form, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except Exception:
        pass
    try:
        # NaN, keys that are not text, cycles and failing models are rare, so only they need the slower walk.
        return json.dumps(_plain(value, ()), separators=(",", ":"), ensure_ascii=False)
    except Exception as error:
        # Such as a number that has too many digits for Python to make a text of it.
        return json.dumps(_unserialisable(error))


def describe_error(error: BaseException) -> dict[str, str]:
    """An error in the form for clients: its class, or the server's name of it, and its message. Never raises."""
    name = error.name if isinstance(error, CallFailed) else type(error).__name__
    return {"error": name, "message": message_of(error)}


def message_of(error: Any) -> str:
    """The message of an error, or what a task has in its place. Never raises: `__str__` of a user's class may."""
    try:
        return str(error)
    except (Exception, SystemExit):
        return "(the message of this error cannot be read)"


def run_failure(error: BaseException) -> dict[str, Any]:
    """The error of a run in its `done` frame: the error's class and message, and what LangGraph says about an answer that it refused in strict mode."""
    described: dict[str, Any] = dict(describe_error(error))
    if type(error).__name__ != "UnknownInterruptError":
        return described
    try:
        lists = {name: [str(each) for each in getattr(error, name, ())] for name in ("interrupt_ids", "pending_ids")}
        return {**described, "reason": str(getattr(error, "reason", "")), **lists}
    except Exception:
        # A class of the user with the same name.
        return described


# The rest of a deep recursion's stack adds nothing.
_MOST_STACK_LENGTH = 8_000


def stack_of(error: BaseException) -> str:
    """Where an error was raised, and why: for a log, never for clients. Never raises."""
    try:
        return "".join(traceback.format_exception(type(error), error, error.__traceback__))[-_MOST_STACK_LENGTH:]
    except (Exception, SystemExit):
        # A property that Python shows failed, such as the line of a syntax error.
        return f"{type(error).__name__}: {message_of(error)}\n"


def _form(value: Any) -> Any:
    """The replacement for a value that JSON does not support."""
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if isinstance(value, BaseException):
        return describe_error(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _dataclass_form(value)
    if isinstance(value, (Set, deque)):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return str(value)


def _dataclass_form(value: Any) -> dict[str, Any]:
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    # LangGraph's newer interrupts have a schema field, which is usually None; clients expect `{id, value}`.
    if type(value).__name__ == "Interrupt" and fields.get("response_schema", ...) is None:
        del fields["response_schema"]
    return fields


def _plain(value: Any, ancestors: tuple[int, ...]) -> Any:
    """The same forms, made step by step, with a replacement for each value that JSON does not support."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if id(value) in ancestors:
        return "[Circular]"
    line = (*ancestors, id(value))
    try:
        if isinstance(value, dict):
            return {str(_form(key) if isinstance(key, Enum) else key): _plain(each, line) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [_plain(each, line) for each in value]
        return _plain(_form(value), line)
    except Exception as error:
        return _unserialisable(error)


def _unserialisable(error: Exception) -> str:
    return f"[Unserialisable: {message_of(error)}]"
