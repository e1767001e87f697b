"""The error of a run in its `done` frame. Pure."""

from __future__ import annotations

from typing import Any

from ..values.serialise import describe_error


def run_failure(error: BaseException) -> dict[str, Any]:
    """The error's class and message, and what LangGraph says about an answer that it refused in strict mode."""
    described: dict[str, Any] = dict(describe_error(error))
    if type(error).__name__ != "UnknownInterruptError":
        return described
    lists = {name: [str(each) for each in getattr(error, name, ())] for name in ("interrupt_ids", "pending_ids")}
    return {**described, "reason": str(getattr(error, "reason", "")), **lists}
