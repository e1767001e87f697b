"""Where an error happened in the user's source, shown as a few lines around the place."""

from __future__ import annotations

import linecache
import os
import traceback
from typing import NamedTuple


class Place(NamedTuple):
    file: str
    line: int


def code_frame(error: BaseException, project: str) -> str | None:
    """
    :param project: folder of the user's code; installed packages below it do not count as user code
    :returns: `src/graph.py:3` and the lines around it, or None when the place is not known
    """
    place = _syntax_error(error, project) or _last_own_line(error, project)
    return None if place is None else _drawn(place, project)


def _syntax_error(error: BaseException, project: str) -> Place | None:
    if not isinstance(error, SyntaxError) or not isinstance(error.filename, str) or not isinstance(error.lineno, int):
        return None
    return Place(error.filename, error.lineno) if _is_own(error.filename, project) else None


def _last_own_line(error: BaseException, project: str) -> Place | None:
    """The innermost line of the traceback in user code."""
    for entry in reversed(traceback.extract_tb(error.__traceback__)):
        if entry.lineno is not None and _is_own(entry.filename, project):
            return Place(entry.filename, entry.lineno)
    return None


def _drawn(place: Place, project: str) -> str | None:
    source = linecache.getlines(place.file)
    if not 0 < place.line <= len(source):
        return None
    first, last = max(1, place.line - 2), min(len(source), place.line + 2)
    width = len(str(last))
    rows = [
        f"{'>' if number == place.line else ' '} {number:>{width}} | {source[number - 1].rstrip()}".rstrip()
        for number in range(first, last + 1)
    ]
    return "\n".join([f"{os.path.relpath(place.file, project)}:{place.line}", *rows])


def _is_own(file: str, project: str) -> bool:
    # `<frozen os>` is a module of Python itself, and would count as a file of the working directory.
    if file.startswith("<"):
        return False
    path = os.path.realpath(file)
    return path.startswith(project + os.sep) and f"{os.sep}site-packages{os.sep}" not in path
