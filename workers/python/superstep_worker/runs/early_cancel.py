"""A cancel that comes before the graph has applied the run's input waits for that: an acknowledged input is saved before its
run stops (W11). An answer to an interrupt is not waited for, since it is saved with the result of the node that asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from .run_request import RunRequest

# A graph applies its input as soon as it is made. A factory that takes longer is not waited for.
_max_wait_seconds = 5


class EarlyCancel:
    def __init__(self, request: RunRequest, stop: Callable[[], None]) -> None:
        """:param stop: stops the run; never called before the input is saved or the wait is over"""
        command = request.command or {}
        changes_state = command.get("update") is not None or command.get("goto") is not None
        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self._is_input_saved = request.input is None and not changes_state
        self._has_input = request.input is not None and not command
        self._waits_for_step = False
        self._timer: asyncio.TimerHandle | None = None

    def cancel(self) -> None:
        if self._is_input_saved:
            self._stop()
        elif self._timer is None:
            self._timer = self._loop.call_later(_max_wait_seconds, self._stop)

    def wait_for_first_step(self) -> None:
        """
        A graph whose first step, `__start__`, moves the input into the state. With the durability `sync` it waits before that step,
        and the next input would replace what is only in the checkpoint of the input. Otherwise both are in one turn of the event loop.
        """
        self._waits_for_step = self._has_input

    def input_applied(self) -> None:
        """LangGraph applies the input now, and asks for its checkpoint in the same turn of the event loop."""
        if not self._waits_for_step:
            self._saved()

    def checkpoint_asked(self, metadata: Mapping[str, Any]) -> None:
        """LangGraph asks for a checkpoint in this turn of the event loop."""
        if self._waits_for_step and metadata.get("source") != "input":
            self._saved()

    def _saved(self) -> None:
        if self._is_input_saved:
            return
        self._is_input_saved = True
        if self._timer is not None:
            self._timer.cancel()
            self._loop.call_soon(self._stop)

    def end(self) -> None:
        """Called when the run is over."""
        if self._timer is not None:
            self._timer.cancel()
