"""The runs of this process, and the server's calls about threads; a slow or failing run never blocks the others."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from ..connection.connection import CallFailed, Connection
from ..connection.frames import Frame
from ..connection.header_fields import calls
from ..connection.load_reports import LoadReports
from ..gate.gate import Gate
from ..gate.loopback import offer_loopback
from ..loading.loader import LoadedGraph, LoadResult, load_graphs
from ..values.answer import Answer
from ..values.serialise import describe_error
from .run_output import end_output
from .run_request import parse_run

if TYPE_CHECKING:
    from .run import Run


class Runner:
    def __init__(self, connection: Connection, gate: Gate, on_bug: Callable[[BaseException], None]) -> None:
        self._connection = connection
        self._gate = gate
        self._project = ""
        self._on_bug = on_bug
        # By claim: a run that was lost and came back has another claim. An entry exists from the `run` frame on, since a
        # cancel or a pause may follow in the same write; it is None until the graph is loaded.
        self._runs: dict[str, Run | None] = {}
        # By claim: requests that came while the entry was None.
        self._early: dict[str, list[Callable[[Run], None]]] = {}
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
            self._tell(frame.header["claim_id"], lambda run: run.cancel())
        elif kind == "pause_events":
            self._tell(frame.header["claim_id"], lambda run: run.pause_events())
        elif kind == "resume_events":
            self._tell(frame.header["claim_id"], lambda run: run.resume_events())
        elif kind == "drain":
            for claim_id in self._runs:
                self._tell(claim_id, lambda run: run.drain())
        elif kind == "stop":
            self._begin(self._stop())
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

    async def _stop(self) -> None:
        await self._gate.end()
        end_output(None)
        # Exits at once: an ordinary exit would wait for threads of user code.
        os._exit(0)

    async def _load(self, frame: Frame) -> None:
        self._project = frame.header["project"]
        # In a thread: imports take seconds, and user code at the top of a module may run its own event loop.
        result = await asyncio.to_thread(self._load_graphs, frame)
        gate = await self._gate.load(frame.header)
        version = result.langgraph_version
        self._connection.send(
            {
                "type": "loaded",
                "graphs": [{"graph_id": graph_id} for graph_id in result.graphs],
                "failed": [{"graph_id": graph_id, "error": error} for graph_id, error in result.failed.items()],
                **gate,
                **({} if version is None else {"langgraph_version": version}),
            }
        )
        self._loaded.set_result(result)

    def _load_graphs(self, frame: Frame) -> LoadResult:
        loopback = frame.header.get("loopback")
        if loopback is not None:
            offer_loopback(loopback)
        return load_graphs(frame.header["project"], frame.header["graphs"])

    async def _run(self, frame: Frame) -> None:
        claim_id = frame.header["claim_id"]
        self._load_reports.start()
        try:
            await self._attempt(frame, claim_id)
        finally:
            run = self._runs.pop(claim_id)
            if run is not None:
                end_output(run)
            self._early.pop(claim_id, None)
            if not self._runs:
                self._load_reports.stop()

    async def _attempt(self, frame: Frame, claim_id: str) -> None:
        try:
            loaded = await asyncio.shield(self._loaded)
            graph = self._graph(loaded, frame.header["graph_id"])
            from .run import Run

            run = Run(parse_run(frame), self._connection, loaded.langgraph_version)
        except Exception as error:
            # The run never started: its graph is missing, or its order cannot be parsed.
            claim = {"run_id": frame.header["run_id"], "claim_id": claim_id}
            failure = {"status": "error", "error": describe_error(error), "payload": ["values", "interrupts"]}
            self._connection.send({"type": "done", **claim, **failure}, ["", "{}"])
            return
        self._runs[claim_id] = run
        for request in self._early.get(claim_id, ()):
            request(run)
        await run.execute(graph)

    def _tell(self, claim_id: str, request: Callable[[Run], None]) -> None:
        """Passes a request to a run, now or when it starts. Unknown runs are ignored."""
        run = self._runs.get(claim_id)
        if run is not None:
            request(run)
        elif claim_id in self._runs:
            self._early.setdefault(claim_id, []).append(request)

    async def _answer(self, frame: Frame) -> None:
        call_id = frame.header["call_id"]
        try:
            answer = await self._answer_of(await asyncio.shield(self._loaded), frame)
            names = [name for name, _ in answer.lines]
            header = {"type": "reply", "call_id": call_id, **answer.fields, **({"payload": names} if names else {})}
            self._connection.send(header, [line for _, line in answer.lines])
        except Exception as error:
            self._connection.send({"type": "failure", "call_id": call_id, "error": describe_error(error)})

    async def _answer_of(self, loaded: LoadResult, frame: Frame) -> Answer:
        method, header, connection = frame.header["method"], frame.header, self._connection
        if method not in calls:
            raise CallFailed({"error": "UnknownMethod", "message": f"this worker has no method {method}"})
        if method == "store.embed":
            from ..store.embedding import embed_texts

            return Answer.line("vectors", await embed_texts(self._project, frame))
        if "graph_id" not in header:
            return await self._gate.answer(frame)
        graph = self._graph(loaded, header["graph_id"])
        from ..schemas.graph_questions import draw_graph, graph_schemas, graph_subgraphs
        from ..threads.thread_questions import graph_history, graph_state
        from ..threads.thread_update import graph_update_state

        match method:
            case "graph.state":
                return Answer.line("state", await graph_state(graph, frame, connection))
            case "graph.history":
                return Answer.line("states", await graph_history(graph, frame, connection))
            case "graph.update_state":
                return await graph_update_state(graph, frame, connection)
            case "graph.draw":
                return Answer.line("graph", await draw_graph(graph, frame, connection))
            case "graph.schemas":
                return Answer.line("schemas", await graph_schemas(graph, frame, connection))
            case _:  # graph.subgraphs
                return Answer.line("subgraphs", await graph_subgraphs(graph, frame, connection))

    def _graph(self, loaded: LoadResult, graph_id: str) -> LoadedGraph:
        if graph_id in loaded.graphs:
            return loaded.graphs[graph_id]
        if graph_id in loaded.failed:
            raise LookupError(f'graph "{graph_id}" did not load: {loaded.failed[graph_id]["message"]}')
        raise LookupError(f'there is no graph "{graph_id}"')
