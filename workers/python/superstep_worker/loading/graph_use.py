"""One use of a graph. One task enters and leaves the context manager that a factory may have made: a task group or a timeout
in it can only be left by the task that entered it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from contextvars import Context, copy_context
from typing import TYPE_CHECKING

from ..values.serialise import stack_of

if TYPE_CHECKING:
    from .graph_export import Graph


class GraphUse:
    """
    :param on_failed: called when the context manager ends with an error before `leave`, such as one of a task group: also when the graph itself
        has finished by then
    """

    def __init__(self, opened: AbstractAsyncContextManager[Graph], on_failed: Callable[[BaseException], None]) -> None:
        self._opened = opened
        self._on_failed = on_failed
        self._entered: asyncio.Future[tuple[Graph, Context]] = asyncio.get_running_loop().create_future()
        self._is_left = asyncio.Event()
        self._task = asyncio.ensure_future(self._hold())
        self._task.add_done_callback(self._ended)

    async def graph(self) -> Graph:
        """Returns when the context manager is entered. The caller gets the context variables that it set."""
        try:
            graph, context = await asyncio.shield(self._entered)
        except asyncio.CancelledError:
            self._task.cancel()
            raise
        for variable, value in context.items():
            variable.set(value)
        return graph

    async def leave(self) -> None:
        """Leaves the context manager, if it was entered. An error of that is logged, since the graph has ended before."""
        self._is_left.set()
        if self._entered.done():
            await asyncio.wait({self._task})

    async def _hold(self) -> None:
        async with self._opened as graph:
            self._entered.set_result((graph, copy_context()))
            await self._is_left.wait()

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if not self._entered.done():
            if error is None or task.cancelled():
                self._entered.cancel()
            else:
                self._entered.set_exception(error)
                # The caller may have been cancelled meanwhile.
                self._entered.exception()
        elif error is None:
            return
        elif self._is_left.is_set():
            print(stack_of(error), file=sys.stderr, flush=True)
        elif task.cancelled():
            self._on_failed(RuntimeError("the graph's code cancelled its own run"))
        else:
            self._on_failed(error)
