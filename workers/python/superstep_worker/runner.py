"""The runs of this process, and the server's questions about threads; one slow or broken run never holds the others."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from .connection import CallFailed, Connection
from .frames import Frame
from .load_reports import LoadReports
from .loader import LoadedGraph, LoadResult, load_graphs
from .run_request import parse_run
from .serialise import describe_error, serialise

if TYPE_CHECKING:
    from .run import Run


class Runner:
    def __init__(self, connection: Connection, on_bug: Callable[[BaseException], None]) -> None:
        self._connection = connection
        self._on_bug = on_bug
        # By claim: a run that was lost and came back is another one. From its frame on, since a cancel may follow in the
        # same write; None until its graph is loaded.
        self._runs: dict[str, Run | None] = {}
        # Claims of those that were cancelled while they were None.
        self._cancelled: set[str] = set()
        self._load_reports = LoadReports(connection)
        self._loaded: asyncio.Future[LoadResult] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers: Mapping[str, Callable[[Frame], Coroutine[Any, Any, None]]] = {
            "load": self._load,
            "run": self._run,
            "call": self._answer,
        }

    def on_frame(self, frame: Frame) -> None:
        kind = frame.header["type"]
        if kind == "ping":
            self._connection.send({"type": "pong", "nonce": frame.header["nonce"]})
        elif kind == "cancel":
            self._cancel(frame.header["claim_id"])
        elif kind in ("pause_events", "resume_events"):
            run = self._runs.get(frame.header["claim_id"])
            if run is not None:
                run.pause_events() if kind == "pause_events" else run.resume_events()
        elif kind == "drain":
            # Not there yet: the run goes on until it is stopped, and its super-step is executed again (README).
            return
        elif kind == "stop":
            # At once: threads of user code would keep an ordinary exit waiting.
            os._exit(0)
        else:
            if kind == "run":
                self._runs[frame.header["claim_id"]] = None
            self._begin(self._answers[kind](frame))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_bug(error)

    async def _load(self, frame: Frame) -> None:
        # In a thread: imports take seconds, and user code at the top of a module may run an event loop of its own.
        result = await asyncio.to_thread(load_graphs, frame.header["project"], frame.header["graphs"])
        version = result.langgraph_version
        self._connection.send(
            {
                "type": "loaded",
                "graphs": [{"graph_id": graph_id} for graph_id in result.graphs],
                "failed": [{"graph_id": graph_id, "error": error} for graph_id, error in result.failed.items()],
                **({} if version is None else {"langgraph_version": version}),
            }
        )
        self._loaded.set_result(result)

    async def _run(self, frame: Frame) -> None:
        claim_id = frame.header["claim_id"]
        self._load_reports.start()
        try:
            await self._attempt(frame, claim_id)
        finally:
            del self._runs[claim_id]
            self._cancelled.discard(claim_id)
            if not self._runs:
                self._load_reports.stop()

    async def _attempt(self, frame: Frame, claim_id: str) -> None:
        try:
            loaded = await asyncio.shield(self._loaded)
            graph = self._graph(loaded, frame.header["graph_id"])
            from .run import Run

            run = Run(parse_run(frame), self._connection, loaded.langgraph_version)
        except Exception as error:
            # The run never began: its graph is not there, or its order cannot be read.
            claim = {"run_id": frame.header["run_id"], "claim_id": claim_id}
            failure = {"status": "error", "error": describe_error(error), "payload": ["values", "interrupts"]}
            self._connection.send({"type": "done", **claim, **failure}, ["", "{}"])
            return
        self._runs[claim_id] = run
        if claim_id in self._cancelled:
            run.cancel()
        await run.execute(graph)

    def _cancel(self, claim_id: str) -> None:
        run = self._runs.get(claim_id)
        if run is not None:
            run.cancel()
        elif claim_id in self._runs:
            self._cancelled.add(claim_id)

    async def _answer(self, frame: Frame) -> None:
        call_id = frame.header["call_id"]
        try:
            graph = self._graph(await asyncio.shield(self._loaded), frame.header["graph_id"])
            name, answer = await self._answer_of(graph, frame)
            self._connection.send({"type": "reply", "call_id": call_id, "payload": [name]}, [serialise(answer)])
        except Exception as error:
            told = {**describe_error(error), **({"error": error.name} if isinstance(error, CallFailed) else {})}
            self._connection.send({"type": "failure", "call_id": call_id, "error": told})

    async def _answer_of(self, graph: LoadedGraph, frame: Frame) -> tuple[str, Any]:
        """:returns: the name of the reply's payload line, and its value"""
        from .graph_questions import draw_graph, graph_schemas, graph_subgraphs
        from .thread_questions import graph_history, graph_state

        match frame.header["method"]:
            case "graph.state":
                return "state", await graph_state(graph, frame, self._connection)
            case "graph.history":
                return "states", await graph_history(graph, frame, self._connection)
            case "graph.draw":
                return "graph", await draw_graph(graph, frame)
            case "graph.schemas":
                return "schemas", await graph_schemas(graph, frame)
            case _:
                return "subgraphs", await graph_subgraphs(graph, frame)

    def _graph(self, loaded: LoadResult, graph_id: str) -> LoadedGraph:
        if graph_id in loaded.graphs:
            return loaded.graphs[graph_id]
        if graph_id in loaded.failed:
            raise LookupError(f'graph "{graph_id}" did not load: {loaded.failed[graph_id]["message"]}')
        raise LookupError(f'there is no graph "{graph_id}"')
