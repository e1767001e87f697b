"""Imported by a graph, it sets the clock of the worker's process ahead, as on a machine whose clock is wrong."""

import os
import time

ahead_ms = int(os.environ.get("CHAOS_CLOCK_AHEAD_MS", "0"))
_time, _time_ns = time.time, time.time_ns
if ahead_ms > 0:
    time.time = lambda: _time() + ahead_ms / 1000
    time.time_ns = lambda: _time_ns() + ahead_ms * 1_000_000
