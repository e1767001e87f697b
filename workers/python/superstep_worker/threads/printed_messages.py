"""Reads messages in the form in which states are printed, without losing what they say.

LangChain reads a dict as what a user types: the tokens used and the invalid tool calls of an answer become `additional_kwargs`. A state that
is read over the API and written back would be another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import messages_from_dict
from langgraph.graph.message import add_messages
from pydantic import ValidationError

_TYPES = frozenset(("human", "ai", "system", "tool", "function", "AIMessageChunk", "HumanMessageChunk"))


def with_messages(values: Any, channels: Mapping[str, Any]) -> Any:
    """The values of an update, with messages in place of printed ones.

    :param channels: those of the graph: only channels that `add_messages` reduces have messages
    """
    if not isinstance(values, Mapping):
        return values
    return {
        name: _messages(value) if getattr(channels.get(name), "operator", None) is add_messages else value
        for name, value in values.items()
    }


def _messages(value: Any) -> Any:
    if isinstance(value, list):
        return [_message(each) for each in value]
    return _message(value)


def _message(value: Any) -> Any:
    # What somebody typed has a role, or no id.
    is_printed = isinstance(value, Mapping) and "content" in value and "id" in value and value.get("type") in _TYPES
    if not is_printed:
        return value
    try:
        return messages_from_dict([{"type": value["type"], "data": dict(value)}])[0]
    except ValidationError:
        # LangChain says what is wrong with it.
        return value
