"""Recognises code that did not load since an environment variable is not set: Python itself reports only the name's `repr`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

_read_of_environ: CodeType = type(os.environ).__getitem__.__code__


def missing_variables(error: BaseException) -> list[str]:
    """The variables that this error says are not set, by where it was raised: `os.environ["NAME"]`, or the settings of
    `pydantic_settings`. Empty for any other error."""
    for frame in _frames(error):
        if isinstance(error, KeyError) and frame.f_code is _read_of_environ:
            return [str(error.args[0])]
        if frame.f_globals.get("__name__") == "pydantic_settings.main" and "__pydantic_self__" in frame.f_locals:
            return _missing_settings(error, type(frame.f_locals["__pydantic_self__"]))
    return []


def _frames(error: BaseException) -> Iterator[FrameType]:
    place = error.__traceback__
    while place is not None:
        yield place.tb_frame
        place = place.tb_next


def _missing_settings(error: Any, settings: Any) -> list[str]:
    """Fields without a value. Each is named as its variable: an alias is one, a field's name gets the prefix of the settings."""
    prefix = settings.model_config.get("env_prefix", "")
    missing = [str(each["loc"][0]) for each in error.errors() if each["type"] == "missing" and len(each["loc"]) == 1]
    return [f"{prefix}{name}".upper() if name in settings.model_fields else name for name in missing]
