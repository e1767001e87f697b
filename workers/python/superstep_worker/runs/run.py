"""One run, from its `run` frame to its `done`.

It owns the task that reads the graph's stream, the run's link to its checkpoints and the feed of its events. It promises:
nothing is sent before it starts or after `done` (W1); events are sent before the checkpoint they led to (W2), or after it when
they report an interrupt (W10); `done` is sent after all writes (W3); after a lost claim nothing is sent (W4). It stops when the
graph stops, by `cancel`, by `fail`, after a super-step by `drain` (W8), or when a write fails because the claim is lost.
Between `pause_events` and `resume_events` it sends no events (W9).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from langgraph.constants import START
from langgraph.types import StateSnapshot

from ..checkpoints.checkpoint_link import CheckpointLink, LinkOptions
from ..checkpoints.checkpointer import Checkpointer
from ..connection.connection import CallFailed, Connection, Lines
from ..connection.frames import Frame, Header
from ..events.event_feed import EventFeed
from ..events.event_mapper import EventMapper
from ..events.interrupt_events import InterruptEvents, InterruptOptions
from ..events.wire_event import WireEvent, event_text
from ..loading.factory import Purpose
from ..loading.graph_export import Graph, with_persistence
from ..loading.graph_use import GraphUse
from ..loading.loader import LoadedGraph
from ..store.store import Store
from ..threads.thread_state import open_interrupts
from ..traces.span_recorder import RecorderOptions, SpanRecorder
from ..values.serialise import describe_error, run_failure, serialise, stack_of
from .drain import drain_option, is_drained
from .early_cancel import EarlyCancel
from .run_input import needs_head, run_start, stands_at
from .run_request import RunRequest, runnable_config, stream_options, uses_events
from .uncaught import current_run

# A cancelled graph usually ends at once. User code that ignores the cancellation gets this long.
_cancel_grace_seconds = 1
# When its stream is over, a graph has requested all its checkpoints, or does so at once. If saving one failed, later ones never
# come, and the run must end anyway.
_late_checkpoint_seconds = 5

Ending = Literal["cancelled", "failed", "drained"]


class Run:
    def __init__(self, request: RunRequest, connection: Connection, langgraph_version: str | None) -> None:
        header = request.header
        self._request = request
        self._connection = connection
        self._langgraph_version = langgraph_version
        self._feed = EventFeed()
        self._events = EventMapper(header)
        self._link = CheckpointLink(
            LinkOptions(
                call=self._call,
                claim=request.claim,
                thread_id=request.thread_id,
                # The previous attempt may have saved the thread's first checkpoint.
                has_checkpoint=header["has_checkpoint"] or request.attempt > 1,
                events_written=self._events_written,
                awaits_commits=header["durability"] == "sync",
                on_refused=self.fail,
            )
        )
        self._interrupts = InterruptEvents(
            InterruptOptions(
                saves_at_end=header["durability"] == "exit",
                saved_so_far=self._saved_so_far,
                all_saved=self._link.idle,
                send=self._send,
            )
        )
        self._cancel = EarlyCancel(request, lambda: self._end("cancelled"))
        # None when the run is not traced.
        self._recorder = self._recorder_for(header.get("trace"))
        self._use: GraphUse | None = None
        self._graph: Graph | None = None
        self._ending: Ending | None = None
        # The reason of the ending `failed`.
        self._failure: BaseException | None = None
        # The server's refusal, once another attempt has the run: nothing more is sent for this one (W4).
        self._lost: CallFailed | None = None
        self._is_draining = False
        # Whether it continues a super-step of an earlier attempt.
        self._repeats_step = False
        self._stopped = asyncio.Event()
        # Set while events may be sent.
        self._may_send = asyncio.Event()
        self._may_send.set()
        self._is_over = False

    async def execute(self, loaded: LoadedGraph) -> None:
        """Never raises: every outcome becomes the run's `done`, except that nothing is sent when the claim is lost."""
        current_run.set(self)
        problem = await self._outcome(asyncio.ensure_future(self._stream(loaded)))
        if self._is_draining and self._ending is None and is_drained(problem):
            self._ending = "drained"
        await self._finish(problem)
        if self._use is not None:
            await self._use.leave()

    def _recorder_for(self, trace: Literal["models", "timings", "full"] | None) -> SpanRecorder | None:
        if trace is None:
            return None

        def send(spans: Sequence[Mapping[str, Any]], lines: Sequence[str]) -> None:
            header = {"type": "spans", **self._request.claim, "spans": spans, "payload": ["content"] * len(lines)}
            self._connection.send(header, lines)

        return SpanRecorder(RecorderOptions(trace, send, lambda: self._connection.is_full, self._connection.room))

    @property
    def run_id(self) -> str:
        return self._request.run_id

    @property
    def thread_id(self) -> str:
        return self._request.thread_id

    @property
    def is_over(self) -> bool:
        return self._is_over

    def cancel(self) -> None:
        self._may_send.set()
        self._cancel.cancel()

    def drain(self) -> None:
        """Makes the graph end when its super-step is over (W8)."""
        self._is_draining = True

    def fail(self, error: BaseException) -> None:
        """Ends the run with an error outside of what the graph awaits."""
        if self._ending is None:
            self._failure = error
        self._end("failed")

    def pause_events(self) -> None:
        if self._ending is None and self._lost is None:
            self._may_send.clear()

    def resume_events(self) -> None:
        self._may_send.set()

    def _end(self, ending: Ending) -> None:
        if self._is_over:
            return
        self._ending = self._ending or ending
        self._stop()

    def _lose(self, refusal: CallFailed) -> None:
        """Whatever ended the run before: from now on nothing is sent for it."""
        self._lost = refusal
        if self._is_over:
            return
        if self._recorder is not None:
            self._recorder.drop()
        self._stop()

    def _stop(self) -> None:
        self._link.stop()
        self._may_send.set()
        self._stopped.set()

    async def _outcome(self, work: asyncio.Future[None]) -> BaseException | None:
        """Waits until the graph ends or is stopped, and returns why it failed."""
        stopped: asyncio.Future[Any] = asyncio.ensure_future(self._stopped.wait())
        ends: set[asyncio.Future[Any]] = {work, stopped}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not work.done():
            work.cancel()
            await asyncio.wait({work}, timeout=_cancel_grace_seconds)
        if not work.done():
            # The graph's task is abandoned. Its later calls fail at the closed link.
            work.add_done_callback(lambda left: left.cancelled() or left.exception())
            return None
        if work.cancelled():
            return RuntimeError("the graph's code cancelled its own run")
        return work.exception()

    async def _stream(self, loaded: LoadedGraph) -> None:
        request = self._request
        config = runnable_config(request, self._langgraph_version, self._recorder)
        store = Store(self._call, request.claim)
        cancel = self._cancel
        checkpointer = Checkpointer(
            self._link, cancel.input_applied, cancel.checkpoint_asked, lambda: self._repeats_step
        )
        purpose = Purpose("threads.create_run", store, request.context)
        self._use = GraphUse(loaded.use(config, purpose), self.fail)
        graph = self._graph = with_persistence(await self._use.graph(), checkpointer, store)
        head = await checkpointer.aget_tuple(self._thread) if needs_head(request) else None
        if await self._repeats_breakpoint(graph):
            return
        start, config = run_start(request, config, head)
        self._repeats_step = start is None and request.attempt > 1
        if start is None:
            # An earlier attempt has applied it.
            self._cancel.input_applied()
        elif request.header["durability"] == "sync" and START in getattr(graph, "nodes", ()):
            self._cancel.wait_for_first_step()
        options: dict[str, Any] = {**stream_options(request), "context": _context_for(graph, request.context)}
        # With durability `exit` nothing is saved in between, so the next attempt would start from the beginning.
        if request.header["durability"] != "exit":
            options |= drain_option(graph, lambda: self._is_draining)
        try:
            if uses_events(request.header["stream_modes"]):
                events = graph.astream_events(start, config, version="v2", **options)
                await self._feed.read(events, lambda event: self._take(self._events.from_langchain_event(event)), self._room)
            else:
                chunks = graph.astream(start, config, **options)
                await self._feed.read(chunks, lambda chunk: self._take(self._events.from_chunk(chunk)), self._room)
        finally:
            # The interrupts are open, even if another node fails.
            late = asyncio.get_running_loop().call_later(_late_checkpoint_seconds, self._link.expect_no_more)
            try:
                await self._interrupts.end()
            finally:
                late.cancel()

    @property
    def _thread(self) -> Any:
        return {"configurable": {"thread_id": self._request.thread_id}}

    async def _repeats_breakpoint(self, graph: Graph) -> bool:
        """If the previous attempt stopped at a breakpoint and could not report it, this one reports it and runs nothing."""
        request, head = self._request, self._link.newest()
        if request.attempt == 1 or head is None or head.metadata.get("run_id") != request.run_id:
            return False
        state = await self._final_state()
        if state is None:
            return False
        before = request.header.get("interrupt_before") or graph.interrupt_before_nodes
        after = request.header.get("interrupt_after") or graph.interrupt_after_nodes
        if not stands_at(head, state.next, before) and not stands_at(head, await self._last_nodes(state), after):
            return False
        # LangGraph for Python reports a breakpoint only on `updates`.
        for mode, payload in (("values", state.values), ("updates", {"__interrupt__": []})):
            await self._send(self._events.from_root(mode, payload))
        return True

    async def _last_nodes(self, state: StateSnapshot) -> Sequence[str]:
        """The nodes whose super-step led to a state."""
        is_after_step = state.metadata is not None and state.metadata.get("source") == "loop"
        if not is_after_step or state.parent_config is None or self._graph is None:
            return ()
        return (await self._graph.aget_state(state.parent_config)).next

    def _take(self, events: Iterable[WireEvent]) -> None:
        self._emit(self._interrupts.take(list(events)))

    async def _events_written(self) -> None:
        await self._feed.written()
        if self._events.protocol is not None:
            await self._send(self._events.protocol.flush())

    async def _end_protocol(self, state: StateSnapshot | None, problem: BaseException | None) -> None:
        """No message and no subgraph stays open. A drained run goes on elsewhere."""
        protocol = self._events.protocol
        if protocol is None or self._ending == "drained":
            return
        if problem is not None:
            await self._send(protocol.end("failed", describe_error(problem)["message"]))
        elif self._ending == "cancelled":
            await self._send(protocol.end("interrupted", "the run was cancelled"))
        else:
            await self._send(protocol.end("interrupted" if _stopped(state) == "interrupted" else "completed"))

    async def _saved_so_far(self) -> None:
        # LangGraph saves in the background: its requests arrive here after some turns of the event loop.
        await self._feed.turns()
        await self._link.answered_so_far()

    async def _send(self, events: Iterable[WireEvent]) -> None:
        """Sends events when the run may: not while it is paused (W9), nor while the socket is full."""
        await self._room()
        self._emit(events)

    def _emit(self, events: Iterable[WireEvent]) -> None:
        if self._is_over or self._lost is not None:
            return
        for event in events:
            header = {"type": "event", **self._request.claim, "event": event.name, "payload": ["data"]}
            self._connection.send(header, [event_text(event)])

    async def _room(self) -> None:
        # What it waits for may be over and begin again before this goes on.
        while self._connection.is_full or not self._may_send.is_set():
            await self._may_send.wait()
            await self._connection.room()

    async def _call(self, fields: Header, lines: Lines = ()) -> Frame:
        if self._lost is not None:
            raise self._lost
        try:
            return await self._connection.call(fields, lines)
        except CallFailed as error:
            if error.name == "ClaimLost":
                self._lose(error)
            raise

    async def _finish(self, problem: BaseException | None) -> None:
        if self._recorder is not None:
            # Here, since the worker waits for the server anyway.
            await self._recorder.flush()
        await self._link.sent()
        state: StateSnapshot | None = None
        try:
            state = await self._final_state()
        except Exception as error:
            problem = problem or error
        await self._end_protocol(state, self._failed(problem))
        if self._recorder is not None:
            await self._recorder.end()
        self._is_over = True
        self._cancel.end()
        self._link.close(RuntimeError(f"run {self._request.run_id} is over"))
        if self._lost is None:
            self._done(state, self._failed(problem))

    def _failed(self, problem: BaseException | None) -> BaseException | None:
        if self._ending in ("cancelled", "drained"):
            return None
        return self._failure if self._ending == "failed" else problem

    async def _final_state(self) -> StateSnapshot | None:
        """The link remembers the newest checkpoint, so this needs no call to the server."""
        if self._lost is not None or self._ending == "drained" or self._graph is None or self._link.newest() is None:
            return None
        return await self._graph.aget_state(self._thread)

    def _done(self, state: StateSnapshot | None, problem: BaseException | None) -> None:
        ended = _stopped(state) if problem is None else "error"
        status = self._ending if self._ending in ("cancelled", "drained") else ended
        header = {
            "type": "done",
            **self._request.claim,
            "status": status,
            **({} if problem is None else {"error": run_failure(problem), "stack": stack_of(problem)}),
            **({} if state is None else {"next": list(state.next)}),
            "payload": ["values", "interrupts"],
        }
        values = "" if state is None else serialise(state.values)
        self._connection.send(header, [values, serialise({} if state is None else open_interrupts(state))])


def _stopped(state: StateSnapshot | None) -> Literal["success", "interrupted"]:
    """A task at its second interrupt already has a write, its first answer: LangGraph 1.0 leaves it out of `next`."""
    if state is None:
        return "success"
    return "interrupted" if state.next or any(task.interrupts for task in state.tasks) else "success"


def _context_for(graph: Graph, context: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Without a context, the graph gets its schema's defaults, or none when a field of the schema has no default."""
    schema = graph.context_schema
    if context or schema is None:
        return context or None
    try:
        schema()
    except (TypeError, ValueError):
        return None
    return {}
