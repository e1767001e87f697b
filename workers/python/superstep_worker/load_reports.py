"""Tells the server how much this process has to do while runs execute: it gives new runs by that."""

from __future__ import annotations

import asyncio
import os
import time

from .connection import Connection

# Several times within what a person notices, and far more than the frame costs.
_every_seconds = 0.1


class LoadReports:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._timer: asyncio.TimerHandle | None = None
        self._wall = 0.0
        self._cpu = 0.0

    def start(self) -> None:
        """Reports from now on; does nothing when it does so already."""
        if self._timer is None:
            self._note()
            self._wait()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_every_seconds, self._report)

    def _note(self) -> None:
        self._wall, self._cpu = time.monotonic(), time.process_time()

    def _report(self) -> None:
        wall, cpu = self._wall, self._cpu
        self._note()
        # All threads: synchronous nodes run beside the event loop, and share its interpreter.
        busy = min(1.0, (self._cpu - cpu) / max(self._wall - wall, 0.001))
        self._connection.send({"type": "load_report", "busy": round(busy, 3), "memory_mb": _resident_mb()})
        self._wait()


def _resident_mb() -> int:
    """Resident memory in megabytes; 0 where the system does not tell: then memory is no limit."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024**2
