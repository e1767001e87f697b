"""Reports this process's load to the server while runs execute; the server distributes new runs by it."""

from __future__ import annotations

import asyncio
import os
import time

from .connection import Connection

# Short enough that a person does not notice the delay, and long compared to the cost of a frame.
_every_seconds = 0.1


class LoadReports:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._timer: asyncio.TimerHandle | None = None
        self._wall = 0.0
        self._cpu = 0.0

    def start(self) -> None:
        """Starts reporting; does nothing if it has already started."""
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
        # Counts all threads: synchronous nodes run in threads beside the event loop, and share its interpreter.
        busy = min(1.0, (self._cpu - cpu) / max(self._wall - wall, 0.001))
        self._connection.send({"type": "load_report", "busy": round(busy, 3), "memory_mb": _resident_mb()})
        self._wait()


def _resident_mb() -> int:
    """Resident memory in megabytes; 0 when the system does not report it: then memory limits nothing."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024**2
