"""What user code prints, as entries of the log: with the run whose code printed it, and a traceback as one entry. Output that belongs to no
run stays as it is, and so does what code writes to the file descriptor itself."""

from __future__ import annotations

import io
import json
import re
import sys
import threading
from typing import TYPE_CHECKING, Any

from .uncaught import current_run

if TYPE_CHECKING:
    from .run import Run

_start = "Traceback (most recent call last):"
# An error's own line is not indented; the frame around an exception group ends with a line of dashes.
_last_line = re.compile(r"[^\s|+]|\s*\+-+$")

# A line without an end, and a traceback without one, are printed when they are longer.
_most_partial = 8 * 1024
_most_lines = 1000


def mark_output() -> None:
    """From now on, `print` and everything else that writes to `sys.stdout` and `sys.stderr` marks its lines."""
    for name in ("stdout", "stderr"):
        marked = _marked(getattr(sys, name))
        # Both names, since the stream that the second one had is detached from its file.
        setattr(sys, name, marked)
        setattr(sys, f"__{name}__", marked)


def end_output(run: Run | None) -> None:
    """Prints what a run left without a line end. For None, of all."""
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, RunOutput):
            output.end(run)


def _marked(output: Any) -> Any:
    if not isinstance(output, io.TextIOWrapper):
        return output
    encoding, errors = output.encoding, output.errors
    # Output must appear when it is printed, not when a buffer is full.
    return RunOutput(output.detach(), encoding=encoding, errors=errors, line_buffering=True)


class RunOutput(io.TextIOWrapper):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # Nodes without `async` run in threads.
        self._lock = threading.RLock()
        #: By run: text after its last line end.
        self._partial: dict[Run | None, str] = {}
        #: By run: the lines of a traceback whose last line has not come.
        self._traceback: dict[Run | None, list[str]] = {}

    def write(self, text: str) -> int:
        run = current_run.get()
        if run is not None and run.is_over:
            run = None
        with self._lock:
            if run is None and not self._partial.get(None) and None not in self._traceback and _start not in text:
                super().write(text)
            else:
                self._take(run, text)
        return len(text)

    def end(self, run: Run | None) -> None:
        with self._lock:
            for each in [run] if run is not None else [*self._partial, *self._traceback]:
                partial = self._partial.pop(each, "")
                lines = self._traceback.pop(each, [])
                if lines:
                    self._print_traceback(each, lines + ([partial] if partial else []))
                elif partial:
                    self._print(each, partial)

    def _take(self, run: Run | None, text: str) -> None:
        whole, line_end, rest = (self._partial.pop(run, "") + text).rpartition("\n")
        if len(rest) > _most_partial:
            whole, line_end, rest = whole + line_end + rest, "\n", ""
        if rest:
            self._partial[run] = rest
        if not line_end:
            return
        lines = whole.split("\n")
        traceback = self._traceback.pop(run, None)
        if traceback is None and not any(_start in line for line in lines):
            for line in lines:
                self._print(run, line)
            return
        # A logger writes its message, the traceback and what caused it at once: that is one entry.
        traceback = [*(traceback or []), *lines]
        if _is_complete(traceback) or len(traceback) > _most_lines:
            self._print_traceback(run, traceback)
        else:
            self._traceback[run] = traceback

    def _print(self, run: Run | None, line: str) -> None:
        if run is None or line == "":
            super().write(f"{line}\n")
        elif _is_object(line):
            # A logger's own fields take precedence: they come later.
            fields = "" if '"run_id"' in line else f"{_json(_fields(run))[:-1]},"
            super().write(f"{fields or '{'}{line[1:]}\n")
        else:
            super().write(f"{_json({'msg': line, **_fields(run)})}\n")

    def _print_traceback(self, run: Run | None, lines: list[str]) -> None:
        message = "\n".join(lines).strip("\n")
        super().write(f"{_json({'level': 'error', 'msg': message, **_fields(run)})}\n")


def _is_complete(lines: list[str]) -> bool:
    begin = max(index for index, line in enumerate(lines) if _start in line)
    return any(_last_line.match(line) for line in lines[begin + 1 :])


def _fields(run: Run | None) -> dict[str, str]:
    return {} if run is None else {"run_id": run.run_id, "thread_id": run.thread_id}


def _json(value: dict[str, str]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_object(line: str) -> bool:
    """Whether a logger printed it. One without fields is no message."""
    if not line.startswith("{"):
        return False
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value != {}
