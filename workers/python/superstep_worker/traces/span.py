"""A span as it is recorded: what LangChain told, untouched until it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ..values.serialise import describe_error

Kind = Literal["graph", "node", "model", "tool", "retriever", "chain"]
Status = Literal["running", "success", "interrupted", "cancelled", "error"]

# A message may contain a whole page. A person reads its beginning.
_most_message = 4_000


class OpenSpan:
    __slots__ = (
        "ended_us",
        "error",
        "first_token_us",
        "id",
        "input",
        "is_queued",
        "kind",
        "model",
        "name",
        "namespace",
        "number",
        "output",
        "parent",
        "provider",
        "response_model",
        "started_us",
        "status",
        "tokens",
        "tool_call_id",
    )

    def __init__(
        self, span_id: str, number: int, parent: OpenSpan | None, kind: Kind, name: str, namespace: str, started_us: int
    ) -> None:
        self.id = span_id
        self.number = number
        self.parent = parent
        self.kind: Kind = kind
        self.name = name
        self.namespace = namespace
        self.started_us = started_us
        self.first_token_us: int | None = None
        self.ended_us: int | None = None
        self.status: Status = "running"
        self.input: Any = None
        self.output: Any = None
        self.error: BaseException | None = None
        self.model: str | None = None
        self.response_model: str | None = None
        self.provider: str | None = None
        self.tool_call_id: str | None = None
        self.tokens: Mapping[str, int] = {}
        #: It waits to be sent.
        self.is_queued = False


def span_fields(span: OpenSpan) -> dict[str, Any]:
    """The header of a span in a frame."""
    told = {
        "parent": None if span.parent is None else span.parent.number,
        "first_token_us": span.first_token_us,
        "ended_us": span.ended_us,
        "error": None if span.error is None else _failure_of(span.error),
        "model": span.model,
        "response_model": span.response_model,
        "provider": span.provider,
        "tool_call_id": span.tool_call_id,
    }
    return {
        "span_id": span.id,
        "number": span.number,
        "kind": span.kind,
        "name": span.name,
        "namespace": span.namespace,
        "started_us": span.started_us,
        "status": span.status,
        **{name: value for name, value in told.items() if value is not None},
        **span.tokens,
    }


def _failure_of(error: BaseException) -> dict[str, str]:
    described = describe_error(error)
    return {"error": described["error"], "message": described["message"][:_most_message]}


def status_of_raised(error: BaseException) -> Status:
    """How work ended that raised: LangGraph raises to stop at an interrupt, and to pass a command to the parent graph."""
    classes = {each.__name__ for each in type(error).__mro__}
    if "ParentCommand" in classes:
        return "success"
    if "GraphBubbleUp" in classes:
        return "interrupted"
    return "cancelled" if "CancelledError" in classes else "error"


def answer_of(result: Any) -> Any:
    """The messages or the texts of a model's answer, without LangChain's wrapping."""
    generations = [each for group in getattr(result, "generations", ()) for each in group]
    answers = [getattr(each, "message", None) or getattr(each, "text", None) for each in generations]
    return answers[0] if len(answers) == 1 else answers


def model_of(result: Any) -> str | None:
    """The model's name in its answer."""
    about = record(getattr(answer_of(result), "response_metadata", None))
    return text(about.get("model_name")) or text(about.get("model"))


def tokens_of(result: Any) -> dict[str, int]:
    """`input_tokens` and `output_tokens`, as far as the answer has them."""
    usage = record(getattr(answer_of(result), "usage_metadata", None))
    old = record(record(getattr(result, "llm_output", None)).get("token_usage"))
    counts = {
        "input_tokens": usage.get("input_tokens", old.get("prompt_tokens")),
        "output_tokens": usage.get("output_tokens", old.get("completion_tokens")),
    }
    # More than a number of JSON holds exactly cannot be a count.
    return {name: count for name, count in counts.items() if type(count) is int and abs(count) < 2**53}


def record(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def text(value: Any) -> str | None:
    return value if isinstance(value, str) and value != "" else None
