"""What a run's first step gets: the input, a command, or nothing, when the thread simply goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Command, Send

from .run_request import RunRequest


def run_start(
    request: RunRequest, config: RunnableConfig, head: CheckpointTuple | None
) -> tuple[Any, RunnableConfig]:
    """
    :param head: the thread's newest checkpoint; only looked at by a repeated attempt or an answer that is null
    :returns: input and config
    """
    if request.attempt > 1 and head is not None and head.metadata.get("run_id") == request.run_id:
        return None, _from_head(config)
    if request.command is None:
        return request.input, config
    return _to_command(request.command, head), config


def needs_head(request: RunRequest) -> bool:
    """True when `run_start` has to see the head."""
    return request.attempt > 1 or (request.command is not None and _is_null_answer(request.command))


def _from_head(config: RunnableConfig) -> RunnableConfig:
    """The attempt before this one has saved a checkpoint, so its input or command is in. Sent again, an answer would
    also answer the next question, and a run from an older checkpoint would fork once more."""
    old = {"checkpoint_id", "checkpoint_ns", "checkpoint_map"}
    kept = {name: value for name, value in config["configurable"].items() if name not in old}
    return cast(RunnableConfig, {**config, "configurable": kept})


def _to_command(command: Mapping[str, Any], head: CheckpointTuple | None) -> Command[Any]:
    goto, update = command.get("goto"), command.get("update")
    targets = goto if isinstance(goto, list) else [] if goto is None else [goto]
    resume = _answer_by_id(head) if _is_null_answer(command) else command.get("resume")
    return Command(update=update, goto=[_to_goto(target) for target in targets], resume=resume)


def _to_goto(target: Any) -> Any:
    if not isinstance(target, dict) or "node" not in target:
        return target
    return Send(str(target["node"]), target.get("input"))


def _is_null_answer(command: Mapping[str, Any]) -> bool:
    """LangGraph takes None for "no answer" (decisions, agent server 7 wants every answer to reach its node). `null` is
    one when the command says nothing else."""
    is_alone = command.get("goto") is None and command.get("update") is None
    return "resume" in command and command["resume"] is None and is_alone


def _answer_by_id(head: CheckpointTuple | None) -> dict[str, None] | None:
    """The map `{interrupt id: answer}` passes any value; the oldest open question gets it."""
    writes = [] if head is None else head.pending_writes or []
    open_questions = [each for _, channel, value in writes if channel == "__interrupt__" for each in value]
    return {open_questions[0].id: None} if open_questions else None
