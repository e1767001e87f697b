"""Loads the graphs of a project once and gives them out. The first thing here that is not of the standard library is
the user's own LangGraph."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import sys
import traceback
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .code_frame import code_frame

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from .graph_export import Graph


@dataclass(frozen=True)
class LoadedGraph:
    exported: Any
    #: For messages, such as `./agent.py:graph`.
    origin: str

    def use(self, config: RunnableConfig) -> AbstractAsyncContextManager[Graph]:
        """A factory is called anew for every use; everything else gives the same shared graph."""
        from .graph_export import graph_for

        return graph_for(self.exported, self.origin, config)


@dataclass(frozen=True)
class LoadResult:
    graphs: Mapping[str, LoadedGraph]
    #: The protocol's error by graph id.
    failed: Mapping[str, Mapping[str, str]]
    langgraph_version: str | None


def load_graphs(project: str, specs: Mapping[str, str]) -> LoadResult:
    """Loads every graph; one that fails does not keep the others from loading.

    :param project: folder that the paths are relative to
    :param specs: `path:name` by graph id
    """
    root = os.path.realpath(project)
    if root not in sys.path:
        sys.path.insert(0, root)
    graphs: dict[str, LoadedGraph] = {}
    failed: dict[str, Mapping[str, str]] = {}
    for graph_id, spec in specs.items():
        try:
            graphs[graph_id] = _load_graph(root, spec)
        # User code may also raise SystemExit, and that is no reason to end.
        except (Exception, SystemExit) as error:
            failed[graph_id] = _graph_error(error, root)
    return LoadResult(graphs, failed, _langgraph_version())


def _load_graph(project: str, spec: str) -> LoadedGraph:
    path, colon, name = spec.rpartition(":")
    if not colon or not path or not name:
        raise ValueError(f'"{spec}" must be a path and a name, such as "./src/agent.py:graph"')
    _require_langgraph()
    from .graph_export import check_export

    module = _import_file(project, path)
    if not hasattr(module, name):
        names = sorted(each for each in vars(module) if not each.startswith("_"))
        raise AttributeError(f'{path} has no "{name}": it has {", ".join(names) or "nothing"}')
    exported = check_export(getattr(module, name), spec)
    return LoadedGraph(exported, spec)


def _require_langgraph() -> None:
    try:
        importlib.import_module("langgraph.pregel")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{sys.executable} does not have langgraph: install it with `{sys.executable} -m pip install langgraph`, "
            "or make a .venv in the project that has it, or name another Python with SUPERSTEP_PYTHON"
        ) from error


def _import_file(project: str, path: str) -> ModuleType:
    """Files in packages are imported by their dotted name, so that their relative imports work; two specs of one file
    share its module."""
    file = Path(project, path).resolve()
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {os.path.relpath(file, project)}")
    top, parts = file.parent, [file.stem]
    while (top / "__init__.py").is_file():
        parts.insert(0, top.name)
        top = top.parent
    if str(top) not in sys.path:
        sys.path.append(str(top))
    if len(parts) > 1:
        return importlib.import_module(".".join(parts))
    return _import_script(file)


def _import_script(file: Path) -> ModuleType:
    # The path is in the name: two folders may have a graph.py each.
    name = f"superstep_graph_{str(file.with_suffix('')).strip(os.sep).replace(os.sep, '_').replace('.', '_')}"
    if name in sys.modules:
        return sys.modules[name]
    module_spec = importlib.util.spec_from_file_location(name, file)
    if module_spec is None or module_spec.loader is None:
        raise ImportError(f"{file.name} is no Python file")
    module = importlib.util.module_from_spec(module_spec)
    # Dataclasses and pickling look their module up while it is executed.
    sys.modules[name] = module
    try:
        module_spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _graph_error(error: BaseException, project: str) -> Mapping[str, str]:
    frame = code_frame(error, project)
    return {
        "name": type(error).__name__,
        "message": str(error),
        "stack": "".join(traceback.format_exception(error)),
        **({} if frame is None else {"code_frame": frame}),
    }


def _langgraph_version() -> str | None:
    try:
        return importlib.metadata.version("langgraph")
    except importlib.metadata.PackageNotFoundError:
        return None
