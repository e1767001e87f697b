"""Loads the Python graphs that a `langgraph.json` names, and reports which do not load."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .loading.loader import load_graphs


def main(arguments: Sequence[str]) -> None:
    if not arguments:
        sys.exit("usage: verify.py <langgraph.json> [result file]")
    config_path = Path(arguments[0]).resolve()
    result_path = Path(arguments[1]).resolve() if len(arguments) > 1 else None
    # Standard output is for the report; output of user code goes to standard error.
    report_output = os.dup(1)
    os.dup2(2, 1)
    os.chdir(config_path.parent)
    report = verify(config_path)
    line = json.dumps(report) + "\n"
    if result_path is None:
        os.write(report_output, line.encode())
    else:
        result_path.write_text(line)
    sys.stdout.flush()
    # User code may have left threads and an event loop behind.
    os._exit(0 if not report["failed"] else 1)


def verify(config_path: Path) -> Mapping[str, Any]:
    """
    :returns: `{"graphs", "failed", "langgraph_version"}`; the empty graph id stands for the file itself
    """
    try:
        specs = python_specs(json.loads(config_path.read_text(encoding="utf-8-sig")))
    except (OSError, ValueError, AttributeError) as error:
        return {"graphs": [], "failed": [{"graph_id": "", "message": f"{config_path.name} cannot be read: {error}"}]}
    loaded = load_graphs(str(config_path.parent), specs)
    failed = [
        {"graph_id": graph_id, "message": _sentence(error), **{k: v for k, v in error.items() if k == "code_frame"}}
        for graph_id, error in loaded.failed.items()
    ]
    return {"graphs": list(loaded.graphs), "failed": failed, "langgraph_version": loaded.langgraph_version}


def _sentence(error: Mapping[str, str]) -> str:
    """Some errors say nothing without their name: `KeyError('x')` has the message `'x'`, and `AssertionError()` an empty one."""
    name, message = error["name"], error["message"]
    if message == "":
        return name
    return f"{name}: {message}" if name == "KeyError" and message.startswith(("'", '"')) else message


def python_specs(config: Mapping[str, Any]) -> Mapping[str, str]:
    """The graphs that are Python's, as `path:name` by id."""
    graphs = config.get("graphs", {})
    specs = {graph_id: value["path"] if isinstance(value, dict) else value for graph_id, value in graphs.items()}
    return {graph_id: spec for graph_id, spec in specs.items() if _is_python(spec)}


def _is_python(spec: str) -> bool:
    """As `protocol/src/worker/language.ts` decides."""
    path = spec.rpartition(":")[0]
    is_file = "/" in path or "\\" in path or re.search(r"\.(?:[cm]?[jt]sx?|py)$", path) is not None
    return path.endswith(".py") or not is_file
