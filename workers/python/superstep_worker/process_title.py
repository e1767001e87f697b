"""The title that `ps` and `top` show for this process instead of its command line."""

from __future__ import annotations

import sys

# Fields 48 and 49 of /proc/self/stat, counted from the one after the program's name (proc(5)).
_arg_start, _arg_end = 45, 46

# Longest name that `top` shows, without the terminating zero.
_longest_name = 15


def set_process_title(title: str) -> None:
    """On Linux; other systems keep the command line. The title is cut to the length of the command line, whose memory it takes."""
    if sys.platform != "linux":
        return
    text = title.encode()
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as stat:
            fields = stat.read().rpartition(")")[2].split()
        start, end = int(fields[_arg_start]), int(fields[_arg_end])
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            memory.seek(start)
            memory.write(text[: end - start - 1].ljust(end - start, b"\0"))
        with open("/proc/self/comm", "wb") as name:
            name.write(text[:_longest_name])
    except (OSError, ValueError, IndexError):
        # The kernel hides or protects these: the command line stays, and nothing depends on it.
        return
