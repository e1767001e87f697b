"""A command of a client, as LangGraph's `Command`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Command, Send


def to_command(command: Mapping[str, Any], head: CheckpointTuple | None) -> Command[Any]:
    """:param head: the checkpoint with the open interrupts, for an answer that is null"""
    goto, update = command.get("goto"), _to_update(command.get("update"))
    targets = goto if isinstance(goto, list) else [] if goto is None else [goto]
    resume = _answer_by_id(head) if is_null_answer(command) else command.get("resume")
    return Command(update=update, goto=[_to_goto(target) for target in targets], resume=resume)


def _to_update(update: Any) -> Any:
    """JSON has no tuples, and LangGraph recognises pairs of channel and value only as tuples."""
    is_pairs = isinstance(update, list) and all(
        isinstance(each, list) and len(each) == 2 and isinstance(each[0], str) for each in update
    )
    return [tuple(each) for each in update] if is_pairs else update


def _to_goto(target: Any) -> Any:
    if not isinstance(target, dict) or "node" not in target:
        return target
    return Send(str(target["node"]), target.get("input"))


def is_null_answer(command: Mapping[str, Any]) -> bool:
    """LangGraph treats None as "no answer", but every answer must reach its node (decisions, agent server 7). `null` is
    an answer when the command contains nothing else."""
    is_alone = command.get("goto") is None and command.get("update") is None
    return "resume" in command and command["resume"] is None and is_alone


def _answer_by_id(head: CheckpointTuple | None) -> dict[str, None] | None:
    """A map `{interrupt id: answer}` can pass any value; the oldest open interrupt gets the answer."""
    writes = [] if head is None else head.pending_writes or []
    open_questions = [each for _, channel, value in writes if channel == "__interrupt__" for each in value]
    return {open_questions[0].id: None} if open_questions else None
