"""A run's order from the server, parsed, and the arguments for LangGraph. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from ..connection.frames import Frame, Header
from ..values.user import with_user

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


@dataclass(frozen=True)
class RunRequest:
    header: Header
    #: None: continue from the checkpoint.
    input: Any
    command: Mapping[str, Any] | None
    config: Mapping[str, Any]
    context: Mapping[str, Any]

    @property
    def run_id(self) -> str:
        return str(self.header["run_id"])

    @property
    def thread_id(self) -> str:
        return str(self.header["thread_id"])

    @property
    def attempt(self) -> int:
        return int(self.header["attempt"])

    @property
    def has_protocol_events(self) -> bool:
        return self.header.get("protocol_events") is True

    @property
    def claim(self) -> Mapping[str, str]:
        """The ids that every frame for the run contains."""
        return {"run_id": self.run_id, "claim_id": str(self.header["claim_id"])}


def parse_run(frame: Frame) -> RunRequest:
    """:raises ValueError: a payload line is not JSON"""

    def line(name: str) -> Any:
        text = frame.line(name)
        return json.loads(text) if text else None

    command = line("command")
    return RunRequest(
        header=frame.header,
        input=line("input"),
        command=command if isinstance(command, dict) else None,
        config=with_user(dict(_dict(line("config")))),
        context=_dict(line("context")),
    )


#: What LangGraph Python streams by itself.
_engine_modes = {"values", "updates", "custom", "debug", "tasks", "checkpoints", "tools"}


def engine_modes(wire_modes: Sequence[str]) -> list[str]:
    """The stream modes to request from LangGraph.

    :raises ValueError: a mode is unknown
    """
    unknown = [mode for mode in wire_modes if mode not in _engine_modes | {"messages-tuple", "messages", "events"}]
    if unknown:
        raise ValueError(f"LangGraph for Python has no stream mode {', '.join(unknown)}")
    engine_names = {"messages-tuple": "messages", "messages": "values"}
    return list(dict.fromkeys(engine_names.get(mode, mode) for mode in wire_modes if mode != "events"))


def uses_events(wire_modes: Sequence[str]) -> bool:
    """LangChain's events cost an order of magnitude more, so they are used only for the two modes that need them."""
    return "events" in wire_modes or "messages" in wire_modes


def runnable_config(request: RunRequest, langgraph_version: str | None, recorder: object | None = None) -> RunnableConfig:
    """LangGraph's config. Values that were not requested are absent, so that those set with `with_config` stay in force.

    :param recorder: a callback handler of the run
    """
    header, config = request.header, request.config
    ids = {"run_id": request.run_id, "thread_id": request.thread_id}
    version = {} if langgraph_version is None else {"langgraph_version": langgraph_version}
    run_id = _uuid(request.run_id)
    told = {
        "configurable": {"graph_id": header["graph_id"], **_dict(config.get("configurable")), **ids},
        "metadata": {
            "graph_id": header["graph_id"],
            "run_attempt": request.attempt,
            **version,
            **_dict(config.get("metadata")),
            **ids,
        },
        **({} if run_id is None else {"run_id": run_id}),
        # LangGraph adds those with which the project has compiled its graph.
        **({} if recorder is None else {"callbacks": [recorder]}),
        **{name: config[name] for name in ("tags", "recursion_limit") if config.get(name) is not None},
    }
    return cast("RunnableConfig", told)


#: The modes from which protocol events are made.
_protocol_modes = ["values", "updates", "messages", "tools", "custom", "tasks", "checkpoints"]


def stream_options(request: RunRequest) -> dict[str, Any]:
    """The arguments of `astream` besides input, config and context."""
    header, modes = request.header, engine_modes(request.header["stream_modes"])
    return {
        "stream_mode": list(dict.fromkeys((*modes, *_protocol_modes))) if request.has_protocol_events else modes,
        "subgraphs": header["stream_subgraphs"] or request.has_protocol_events,
        "durability": header["durability"],
        **{name: header[name] for name in ("interrupt_before", "interrupt_after") if header.get(name) is not None},
    }


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
