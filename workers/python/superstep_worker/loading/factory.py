"""Calls a project's function that makes a graph, with the arguments that it takes."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore

from ..values.user import user_of

AccessContext = Literal["threads.create_run", "threads.update", "threads.read", "assistants.read"]


@dataclass(frozen=True)
class Purpose:
    """What a graph is made for."""

    access_context: AccessContext
    store: BaseStore
    #: Only a run has one.
    context: Mapping[str, Any] | None = None


def call_factory(factory: Callable[..., Any], config: RunnableConfig, purpose: Purpose) -> Any:
    """Parameters are recognised by their types `RunnableConfig` and `ServerRuntime`, then by the names `config` and `runtime`;
    of others, the first gets the config and the second the runtime."""
    hints = _hints(factory)
    given: list[Any] = []
    named: dict[str, Any] = {}
    left: list[Literal["config", "runtime"]] = ["config", "runtime"]
    for name, parameter in inspect.signature(factory).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        hint = hints.get(name, parameter.annotation)
        kind = _kind_of(name, hint)
        if kind is None and parameter.default is parameter.empty and left:
            kind = left[0]
        if kind is None:
            continue
        if kind in left:
            left.remove(kind)
        value = config if kind == "config" else _runtime(config, purpose, hint)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            given.append(value)
        else:
            named[name] = value
    return factory(*given, **named)


def _hints(factory: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(inspect.unwrap(factory))
    except Exception:
        # A name that exists only for type checkers. The annotations are text then.
        return {}


def _kind_of(name: str, hint: Any) -> Literal["config", "runtime"] | None:
    text = hint if isinstance(hint, str) else ""
    if hint is RunnableConfig or "RunnableConfig" in text:
        return "config"
    if _is_runtime(hint) or "ServerRuntime" in text:
        return "runtime"
    return "config" if name == "config" else "runtime" if name == "runtime" else None


def _is_runtime(hint: Any) -> bool:
    known = _runtime_types()
    if hint in known or typing.get_origin(hint) in known:
        return True
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return is_union and any(_is_runtime(each) for each in typing.get_args(hint))


def _runtime_types() -> tuple[Any, ...]:
    try:
        from langgraph_sdk import runtime
    except ImportError:
        return ()
    return runtime.ServerRuntime, runtime._ExecutionRuntime, runtime._ReadRuntime


def _runtime(config: RunnableConfig, purpose: Purpose, hint: Any) -> Any:
    try:
        from langgraph_sdk.runtime import _ExecutionRuntime, _ReadRuntime
    except ImportError as error:
        raise TypeError("the graph's factory takes a ServerRuntime: update langgraph-sdk to 0.3.5 or newer") from error
    fields: dict[str, Any] = {
        "access_context": purpose.access_context,
        "user": user_of(config),
        "store": purpose.store,
    }
    if purpose.access_context == "threads.create_run":
        return _ExecutionRuntime(**fields, context=_context(purpose.context or {}, hint))
    return _ReadRuntime(**fields)


def _context(context: Mapping[str, Any], hint: Any) -> Any:
    """Of the type that the factory names, such as `ServerRuntime[MyContext]`."""
    named = [each for each in typing.get_args(hint) if isinstance(each, type) and each is not type(None)]
    if not named or issubclass(named[0], dict):
        return dict(context)
    return named[0](**context)
