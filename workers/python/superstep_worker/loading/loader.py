"""Loads the graphs of a project once and provides them. The first import from outside the standard library is the
user's own LangGraph."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..values.serialise import message_of, stack_of
from .code_frame import code_frame
from .missing_variable import missing_variables

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from .factory import Purpose
    from .graph_export import Graph


@dataclass(frozen=True)
class LoadedGraph:
    exported: Any
    #: For messages, such as `./agent.py:graph`.
    origin: str

    def use(self, config: RunnableConfig, purpose: Purpose) -> AbstractAsyncContextManager[Graph]:
        """A factory is called again for every use; any other export is one shared graph."""
        from .graph_export import graph_for

        return graph_for(self.exported, self.origin, config, purpose)


@dataclass(frozen=True)
class LoadResult:
    graphs: Mapping[str, LoadedGraph]
    #: The protocol's error by graph id.
    failed: Mapping[str, Mapping[str, str]]
    langgraph_version: str | None


def load_graphs(
    project: str, specs: Mapping[str, str], on_graph: Callable[[str], None] = lambda graph_id: None
) -> LoadResult:
    """Loads every graph; a failure of one does not prevent the others from loading.

    :param project: folder that the paths are relative to
    :param specs: `path:name` or `package.module:name` by graph id
    :param on_graph: called before each graph is loaded, since user code can end the process
    """
    graphs: dict[str, LoadedGraph] = {}
    failed: dict[str, Mapping[str, str]] = {}
    for graph_id, spec in specs.items():
        on_graph(graph_id)
        try:
            graphs[graph_id] = _load_graph(project, spec)
        # User code may also raise SystemExit, which must not end the worker.
        except (Exception, SystemExit) as error:
            failed[graph_id] = load_error(error, project)
    return LoadResult(graphs, failed, _langgraph_version())


def _load_graph(project: str, spec: str) -> LoadedGraph:
    _parse(spec)
    _require_langgraph()
    from .graph_export import check_export

    return LoadedGraph(check_export(import_export(project, spec), spec), spec)


def import_export(project: str, spec: str) -> Any:
    """The object that the project exports under this name.

    :param spec: `path:name` or `package.module:name`
    """
    path, name = _parse(spec)
    root = os.path.realpath(project)
    if root not in sys.path:
        sys.path.insert(0, root)
    module = _import_file(root, path) if _is_file(path) else importlib.import_module(path)
    if not hasattr(module, name):
        names = sorted(each for each in vars(module) if not each.startswith("_"))
        raise AttributeError(f'{path} has no "{name}": it has {", ".join(names) or "nothing"}')
    return getattr(module, name)


def _parse(spec: str) -> tuple[str, str]:
    path, colon, name = spec.rpartition(":")
    if not colon or not path or not name:
        raise ValueError(f'"{spec}" must be a path and a name, such as "./src/agent.py:graph"')
    return path, name


def _is_file(path: str) -> bool:
    return path.endswith(".py") or "/" in path or os.sep in path


def _require_langgraph() -> None:
    try:
        importlib.import_module("langgraph.pregel")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{sys.executable} does not have langgraph: add it to the project's requirements.txt or pyproject.toml. "
            f"On your own computer, install it with `{sys.executable} -m pip install langgraph`, "
            "or make a .venv in the project that has it, or name another Python with SUPERSTEP_PYTHON"
        ) from error


def _import_file(project: str, path: str) -> ModuleType:
    """Files in packages are imported by their dotted name, so that their relative imports work; two specs of one file
    share its module."""
    file = Path(project, path).resolve()
    if not file.is_file():
        raise FileNotFoundError(f"no such file: {os.path.relpath(file, project)}")
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
    # The name contains the path: two folders may each have a graph.py.
    name = f"superstep_graph_{str(file.with_suffix('')).strip(os.sep).replace(os.sep, '_').replace('.', '_')}"
    if name in sys.modules:
        return sys.modules[name]
    module_spec = importlib.util.spec_from_file_location(name, file)
    if module_spec is None or module_spec.loader is None:
        raise ImportError(f"{file.name} is not a Python file")
    module = importlib.util.module_from_spec(module_spec)
    # Dataclasses and pickling look up their module while it is executed.
    sys.modules[name] = module
    try:
        module_spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def load_error(error: BaseException, project: str) -> Mapping[str, str]:
    """The protocol's form of an error of code that did not load, for a person."""
    frame = code_frame(error, os.path.realpath(project))
    return {
        "name": type(error).__name__,
        "message": _load_message(error),
        "stack": stack_of(error),
        **({} if frame is None else {"code_frame": frame}),
    }


def _load_message(error: BaseException) -> str:
    missing = missing_variables(error)
    if missing:
        return ", ".join(f'the environment variable "{name}" is not set' for name in missing)
    if isinstance(error, SystemExit):
        return f"the code ended the process while it was loading: sys.exit({error.code!r})"
    return message_of(error)


def _langgraph_version() -> str | None:
    try:
        return importlib.metadata.version("langgraph")
    except importlib.metadata.PackageNotFoundError:
        return None
