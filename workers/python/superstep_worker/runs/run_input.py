"""What a run's first step gets: the input, a command, or nothing when the thread just continues; and whether an
attempt has a first step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.constants import START

from ..values.command import is_null_answer, to_command
from .run_request import RunRequest


def run_start(
    request: RunRequest, config: RunnableConfig, head: CheckpointTuple | None
) -> tuple[Any, RunnableConfig]:
    """
    :param head: the thread's newest checkpoint; only needed for a repeated attempt or an answer that is null
    :returns: input and config
    """
    if request.attempt > 1 and head is not None and head.metadata.get("run_id") == request.run_id:
        return None, _from_head(config)
    if head is not None and _has_used_answer(request):
        return None, _from_head(config) if _starts_from(head, config) else config
    if request.command is None:
        return request.input, config
    command = request.command if head is None else _rest_of(request.command, request.header.get("command_saved"))
    return None if command is None else to_command(command, head), config


def _has_used_answer(request: RunRequest) -> bool:
    """Whether an earlier attempt has saved that a task got the command's answer, such as a task of a subgraph, whose graph has no new
    checkpoint yet. The task keeps the answer; sent again, the next question would get it. Of several answers those that no task has
    kept are lost, and their questions are asked again."""
    is_answer = request.command is not None and "resume" in request.command
    return is_answer and request.header.get("command_saved") == "answer"


def _rest_of(command: Mapping[str, Any], saved: str | None) -> Mapping[str, Any] | None:
    """What of a command is not saved. LangGraph applies the writes of its `update` and `goto` that an earlier attempt has saved, and
    would add those of a command to them; for JavaScript it replaces them. With a `goto` or an `update`, `null` is no answer."""
    if saved is None:
        return command
    resume = command.get("resume")
    return None if resume is None else {"resume": resume}


def _starts_from(head: CheckpointTuple, config: RunnableConfig) -> bool:
    """Whether the run was started from the newest checkpoint. From an older one LangGraph starts anew and asks again."""
    return config["configurable"].get("checkpoint_id") in (None, head.checkpoint["id"])


def needs_head(request: RunRequest) -> bool:
    """Whether `run_start` needs the head."""
    return request.attempt > 1 or (request.command is not None and is_null_answer(request.command))


def _from_head(config: RunnableConfig) -> RunnableConfig:
    """The previous attempt has saved a checkpoint, so its input or command is already applied. Sent again, an answer would
    also answer the next interrupt, and a run from an older checkpoint would fork once more."""
    old = {"checkpoint_id", "checkpoint_ns", "checkpoint_map"}
    kept = {name: value for name, value in config["configurable"].items() if name not in old}
    return cast(RunnableConfig, {**config, "configurable": kept})


def stands_at(head: CheckpointTuple, near: Sequence[str], nodes: str | Sequence[str] | None) -> bool:
    """LangGraph treats a run without input as a request to continue from a breakpoint. That is right for a new run, but a
    repeated attempt must stop where the previous one stopped; else a node would run before a person has checked it.

    :param near: the nodes that would run, or those that ran last
    :param nodes: the nodes to stop before, or after, or `*`
    """
    if not nodes or not any(node != START if nodes == "*" else node in nodes for node in near):
        return False
    versions, seen = head.checkpoint["channel_versions"], head.checkpoint["versions_seen"]
    known: dict[str, Any] = seen.get("__interrupt__", {})
    return any(channel not in known or version > known[channel] for channel, version in versions.items())
