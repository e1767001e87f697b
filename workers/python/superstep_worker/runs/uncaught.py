"""Errors of asyncio tasks that nobody awaits (W5). Python reports such an error when it frees the task, which is usually at
once; a task that user code keeps is reported when it is freed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Generator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ..values.serialise import stack_of

if TYPE_CHECKING:
    from .run import Run

#: The run whose code is executing.
current_run: ContextVar[Run | None] = ContextVar("superstep_run", default=None)


class RunTask(asyncio.Task[Any]):
    """A task that knows its run: before Python 3.12 a task's context cannot be read."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any] | Generator[Any, None, Any], **options: Any) -> None:
        super().__init__(coroutine, **options)
        context = options.get("context")
        self.run = current_run.get() if context is None else context.get(current_run)


def assign_errors(loop: asyncio.AbstractEventLoop) -> None:
    """From now on, an error in a task that nobody awaits ends its run; other runs go on. If the run is unknown, the error is
    only logged, as everywhere in Python."""
    loop.set_task_factory(lambda of, coroutine, **options: RunTask(coroutine, loop=of, **options))
    loop.set_exception_handler(_on_error)


def _on_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    task, error = context.get("future"), context.get("exception")
    if not isinstance(task, RunTask) or task.run is None or error is None:
        loop.default_exception_handler(context)
        return
    print(stack_of(error), file=sys.stderr, flush=True)
    task.run.fail(error)
