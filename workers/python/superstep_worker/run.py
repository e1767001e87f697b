"""One run, from its `run` frame to its `done`.

It owns the task that reads the graph's stream, the run's link to its checkpoints and the feed of its events. It promises:
nothing is sent before it starts or after `done` (W1), events go before the checkpoint they led to (W2), or after it when they
tell of an interrupt (W10), `done` goes after the replies to all writes (W3), and a lost claim ends it in silence (W4). It stops when the graph does, by `cancel`, or
when a write is told that the claim is lost. Between `pause_events` and `resume_events` it sends no event (W9).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Literal

from langgraph.types import StateSnapshot

from .breakpoint import stands_before
from .checkpoint_link import CheckpointLink, LinkOptions
from .checkpointer import Checkpointer
from .connection import CallFailed, Connection, Lines
from .event_feed import EventFeed
from .event_mapper import EventMapper, WireEvent
from .frames import Frame, Header
from .graph_export import Graph, with_persistence
from .interrupt_events import InterruptEvents, InterruptOptions
from .loader import LoadedGraph
from .run_input import needs_head, run_start
from .run_request import RunRequest, runnable_config, stream_options
from .serialise import describe_error, serialise, stack_of
from .store import Store
from .thread_state import open_interrupts

# A cancelled graph ends almost at once, but user code that ignores it may not; nobody waits longer for it.
_cancel_grace_seconds = 1
# When its stream is over, a graph has asked for all its checkpoints, or does so at once. Where saving one failed, those after
# it never come, and the run must end all the same.
_late_checkpoint_seconds = 5


class Run:
    def __init__(self, request: RunRequest, connection: Connection, langgraph_version: str | None) -> None:
        header = request.header
        self._request = request
        self._connection = connection
        self._langgraph_version = langgraph_version
        self._feed = EventFeed()
        self._events = EventMapper(header["stream_modes"], header["stream_subgraphs"])
        self._link = CheckpointLink(
            LinkOptions(
                call=self._call,
                claim=request.claim,
                thread_id=request.thread_id,
                # The attempt before this one may have saved the thread's first.
                has_checkpoint=header["has_checkpoint"] or request.attempt > 1,
                events_written=self._feed.written,
            )
        )
        self._interrupts = InterruptEvents(
            InterruptOptions(
                saves_at_end=header["durability"] == "exit",
                saved_so_far=self._saved_so_far,
                all_saved=self._link.idle,
                send=self._emit,
            )
        )
        self._graph: Graph | None = None
        self._ending: Literal["cancelled", "abandoned"] | None = None
        self._stopped = asyncio.Event()
        # Set while events may be sent.
        self._may_send = asyncio.Event()
        self._may_send.set()
        self._is_over = False

    async def execute(self, loaded: LoadedGraph) -> None:
        """Never raises: whatever happens becomes the run's `done`, or silence when the claim is lost."""
        async with AsyncExitStack() as uses:
            problem = await self._outcome(asyncio.ensure_future(self._stream(loaded, uses)))
            await self._finish(problem)

    def cancel(self) -> None:
        self._end("cancelled")

    def pause_events(self) -> None:
        if self._ending is None:
            self._may_send.clear()

    def resume_events(self) -> None:
        self._may_send.set()

    def _end(self, ending: Literal["cancelled", "abandoned"]) -> None:
        if self._is_over:
            return
        self._ending = self._ending or ending
        self._link.stop()
        self._may_send.set()
        self._stopped.set()

    async def _outcome(self, work: asyncio.Future[None]) -> BaseException | None:
        """Waits for the graph, or for what stops it, and tells why it failed."""
        stopped: asyncio.Future[Any] = asyncio.ensure_future(self._stopped.wait())
        ends: set[asyncio.Future[Any]] = {work, stopped}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not work.done():
            work.cancel()
            await asyncio.wait({work}, timeout=_cancel_grace_seconds)
        if not work.done():
            # It is left behind. Whatever it still does fails at the closed link.
            work.add_done_callback(lambda left: left.cancelled() or left.exception())
            return None
        if work.cancelled():
            return RuntimeError("the graph's code cancelled its own run")
        return work.exception()

    async def _stream(self, loaded: LoadedGraph, uses: AsyncExitStack) -> None:
        request = self._request
        config = runnable_config(request, self._langgraph_version)
        shared = await uses.enter_async_context(loaded.use(config))
        checkpointer = Checkpointer(self._link)
        graph = self._graph = with_persistence(shared, checkpointer, Store(self._call, request.claim))
        head = await checkpointer.aget_tuple(self._thread) if needs_head(request) else None
        if await self._repeats_breakpoint(graph):
            return
        start, config = run_start(request, config, head)
        options: dict[str, Any] = {**stream_options(request), "context": _context_for(graph, request.context)}
        try:
            if "events" in request.header["stream_modes"]:
                events = graph.astream_events(start, config, version="v2", **options)
                await self._feed.read(events, lambda event: self._take(self._events.from_langchain_event(event)), self._room)
            else:
                chunks = graph.astream(start, config, **options)
                await self._feed.read(chunks, lambda chunk: self._take(self._events.from_chunk(chunk)), self._room)
        finally:
            # What was asked stands, also when another node fails.
            late = asyncio.get_running_loop().call_later(_late_checkpoint_seconds, self._link.expect_no_more)
            try:
                await self._interrupts.end()
            finally:
                late.cancel()

    @property
    def _thread(self) -> Any:
        return {"configurable": {"thread_id": self._request.thread_id}}

    async def _repeats_breakpoint(self, graph: Graph) -> bool:
        """The attempt before this one stopped at a breakpoint and could not tell: this one tells it and runs nothing."""
        request, head = self._request, self._link.newest()
        if request.attempt == 1 or head is None or head.metadata.get("run_id") != request.run_id:
            return False
        state = await self._final_state()
        nodes = request.header.get("interrupt_before") or graph.interrupt_before_nodes
        if state is None or not stands_before(head, state.next, nodes):
            return False
        stop: Mapping[str, Any] = {"__interrupt__": []}
        namespace = [()] if request.header["stream_subgraphs"] else []
        for mode, payload in (("values", state.values), ("updates", stop), ("values", stop)):
            self._emit(self._events.from_chunk((*namespace, mode, payload)))
        return True

    def _take(self, events: Iterable[WireEvent]) -> None:
        self._emit(self._interrupts.take(list(events)))

    async def _saved_so_far(self) -> None:
        # LangGraph saves in the background: what it has asked for is here after some turns of the event loop.
        await self._feed.turns()
        await self._link.answered_so_far()

    def _emit(self, events: Iterable[WireEvent]) -> None:
        if self._is_over or self._ending == "abandoned":
            return
        for name, data in events:
            header = {"type": "event", **self._request.claim, "event": name, "payload": ["data"]}
            self._connection.send(header, [serialise(data)])

    async def _room(self) -> None:
        if not self._may_send.is_set():
            await self._may_send.wait()
        if self._connection.is_full:
            await self._connection.room()

    async def _call(self, fields: Header, lines: Lines = ()) -> Frame:
        try:
            return await self._connection.call(fields, lines)
        except CallFailed as error:
            if error.name == "ClaimLost":
                self._end("abandoned")
            raise

    async def _finish(self, problem: BaseException | None) -> None:
        await self._link.idle()
        state: StateSnapshot | None = None
        try:
            state = await self._final_state()
        except Exception as error:
            problem = problem or error
        self._is_over = True
        self._link.close(RuntimeError(f"run {self._request.run_id} is over"))
        if self._ending != "abandoned":
            self._done(state, None if self._ending == "cancelled" else problem)

    async def _final_state(self) -> StateSnapshot | None:
        """The link remembers the newest checkpoint, so this asks the server nothing."""
        if self._ending == "abandoned" or self._graph is None or self._link.newest() is None:
            return None
        return await self._graph.aget_state(self._thread)

    def _done(self, state: StateSnapshot | None, problem: BaseException | None) -> None:
        status = "cancelled" if self._ending == "cancelled" else _stopped(state) if problem is None else "error"
        header = {
            "type": "done",
            **self._request.claim,
            "status": status,
            **({} if problem is None else {"error": describe_error(problem), "stack": stack_of(problem)}),
            **({} if state is None else {"next": list(state.next)}),
            "payload": ["values", "interrupts"],
        }
        values = "" if state is None else serialise(state.values)
        self._connection.send(header, [values, serialise({} if state is None else open_interrupts(state))])


def _stopped(state: StateSnapshot | None) -> Literal["success", "interrupted"]:
    """A task that asks for the second time has a write, its first answer: LangGraph 1.0 leaves it out of `next`."""
    if state is None:
        return "success"
    return "interrupted" if state.next or any(task.interrupts for task in state.tasks) else "success"


def _context_for(graph: Graph, context: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A run without context gives the graph its schema's defaults, and none when the schema has some without one."""
    schema = graph.context_schema
    if context or schema is None:
        return context or None
    try:
        schema()
    except (TypeError, ValueError):
        return None
    return {}
