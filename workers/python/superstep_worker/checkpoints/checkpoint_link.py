"""The checkpoints of one run (or of one call about a thread), stored by the server and accessed by calls.

It remembers the newest checkpoint of its thread's root, since no other writer exists while a run holds its claim: reads at
the end of a run then need no round trip. Writes are sent in the order of LangGraph's calls, and `sent` returns when the last
one was sent (W3). After `close` every call fails with the given reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol

from ..connection.connection import Lines
from ..connection.frames import Frame, Header
from .checkpoint_lines import (
    checkpoint_lines,
    decode_history,
    decode_tuples,
    encode_blobs,
    encode_writes,
    place_config,
    place_of,
)
from .checkpoint_metadata import checkpoint_metadata
from .expected_checkpoints import ExpectedCheckpoints
from .newest_checkpoint import NewestCheckpoint
from .saved_checkpoint import PlacedCheckpoint, for_graph

if TYPE_CHECKING:
    # Older libraries, without delta channels, do not have it.
    from langgraph.checkpoint.base import DeltaChannelHistory

Call = Callable[[Header, Lines], Awaitable[Frame]]


@dataclass(frozen=True)
class LinkOptions:
    #: Calls the server.
    call: Call
    #: The run's thread. A graph that a node calls with another thread uses this link too, and is distinguished by its thread.
    thread_id: str
    #: False when that thread has no checkpoint, so that no call is needed.
    has_checkpoint: bool
    #: The claim that every write names; a reader has none.
    claim: Mapping[str, str] | None = None
    #: Returns when every earlier event has been written to the socket (W2).
    events_written: Callable[[], Awaitable[None]] | None = None
    #: Whether the graph goes on only when a write is committed (durability `sync`), or already when it was sent.
    awaits_commits: bool = True
    #: Called when the server rejected a write that the graph does not await.
    on_refused: Callable[[BaseException], None] = lambda error: None


class CheckpointGone(LookupError):
    """The thread was pruned, or one of its runs deleted, after the checkpoint was loaded. The server knows it by name."""


class CheckpointLink:
    def __init__(self, options: LinkOptions) -> None:
        self._options = options
        # Writes without a reply yet.
        self._pending: set[asyncio.Future[Any]] = set()
        # Done when the last write was sent.
        self._last_sent: asyncio.Future[None] | None = None
        # Namespaces of the run's thread.
        self._written: set[str] = set()
        self._newest = NewestCheckpoint()
        self._expected = ExpectedCheckpoints()
        self._is_stopping = False
        self._closed: Exception | None = None

    def newest(self) -> CheckpointTuple | None:
        """The root's newest checkpoint, if this run knows it."""
        known = self._newest.get()
        return None if known is None else known.tuple

    async def sent(self) -> None:
        """Returns when all writes were sent."""
        last = None
        while last is not self._last_sent:
            last = self._last_sent
            if last is not None:
                await last

    async def idle(self) -> None:
        """Returns when all writes have succeeded or failed."""
        while self._pending:
            await asyncio.wait(set(self._pending))

    async def answered_so_far(self) -> None:
        """Returns when all writes requested so far have a reply, and so have the checkpoints that they belong to."""
        await self._expected.asked()
        # A checkpoint that was just requested is sent in the next turn of the event loop.
        await asyncio.sleep(0)
        if self._pending:
            await asyncio.wait(set(self._pending))

    def expect_no_more(self) -> None:
        """Stops waiting for checkpoints whose writes came before them: a failed graph may never save them."""
        self._expected.close()

    def stop(self) -> None:
        """Called when the run is being cancelled: errors of its stopped tasks are not saved."""
        self._is_stopping = True

    def close(self, reason: Exception) -> None:
        """From now on every call fails with `reason`."""
        self._closed = self._closed or reason
        self._expected.close()

    async def get(self, serde: SerializerProtocol, config: RunnableConfig) -> CheckpointTuple | None:
        found = await self.load(serde, config)
        return None if found is None else for_graph(found.tuple)

    async def load(self, serde: SerializerProtocol, config: RunnableConfig) -> PlacedCheckpoint | None:
        """Like `get`, with the places of the checkpoint's writes, and with the writes of finished tasks."""
        thread_id, ns, checkpoint_id = place_of(config)
        is_root = thread_id == self._options.thread_id and ns == ""
        known = self._newest.get() if is_root else None
        if known is not None and checkpoint_id in (None, known.tuple.checkpoint["id"]):
            return known
        if self._is_new(thread_id, ns):
            return None
        # A read must not overtake earlier writes.
        await self.idle()
        wanted = {} if checkpoint_id is None else {"checkpoint_id": checkpoint_id}
        question = {"method": "checkpoint.get", "thread_id": thread_id, "checkpoint_ns": ns, **wanted}
        reply = decode_tuples(serde, thread_id, await self._call(question))
        if not reply:
            return None
        [found] = reply
        self._expected.add(found.tuple.checkpoint["id"])
        if is_root and checkpoint_id is None:
            self._newest.set(*found)
        return found

    async def history(
        self, serde: SerializerProtocol, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Reads, in one call, the data from which channels without a stored value at a checkpoint are rebuilt.

        :raises CheckpointGone: since an empty history would be read as an empty channel
        """
        thread_id, ns, checkpoint_id = place_of(config)
        nothing: dict[str, DeltaChannelHistory] = {name: {"writes": []} for name in channels}
        if self._is_new(thread_id, ns):
            return nothing
        await self.idle()
        where = {"thread_id": thread_id, "checkpoint_ns": ns, "channels": list(channels)}
        wanted = {} if checkpoint_id is None else {"checkpoint_id": checkpoint_id}
        reply = await self._call({"method": "checkpoint.ancestors", **where, **wanted})
        history = decode_history(serde, channels, reply)
        if history is None and checkpoint_id is not None:
            gone = f"checkpoint {checkpoint_id} of thread {thread_id} was deleted while it was read: try again"
            raise CheckpointGone(gone)
        return nothing if history is None else history

    def _is_new(self, thread_id: str, ns: str) -> bool:
        """Whether no call is needed: the run's thread had no checkpoint, and the run has written none in this namespace."""
        is_own = thread_id == self._options.thread_id
        return is_own and not self._options.has_checkpoint and ns not in self._written

    async def list(
        self,
        serde: SerializerProtocol,
        config: RunnableConfig,
        *,
        before: RunnableConfig | None,
        limit: int | None,
        filter: Mapping[str, Any] | None,
    ) -> Sequence[CheckpointTuple]:
        thread_id, _, checkpoint_id = place_of(config)
        if checkpoint_id is not None:
            found = await self.get(serde, config)
            return [] if found is None else [found]
        await self.idle()
        question = {
            "method": "checkpoint.list",
            "thread_id": thread_id,
            "checkpoint_ns": config["configurable"].get("checkpoint_ns"),
            "before": None if before is None else before["configurable"].get("checkpoint_id"),
            "limit": limit,
            "filter": filter,
        }
        listed: list[CheckpointTuple] = []
        # Page by page, as the server gives them.
        while True:
            reply = await self._call({name: value for name, value in question.items() if value is not None})
            page = [for_graph(each.tuple) for each in decode_tuples(serde, thread_id, reply)]
            listed += page
            if not page or not reply.header.get("more"):
                return listed
            question["before"] = page[-1].config["configurable"]["checkpoint_id"]
            question["limit"] = None if limit is None else limit - len(listed)

    async def put(
        self,
        serde: SerializerProtocol,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: Mapping[str, Any],
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        thread_id, ns, parent_id = place_of(config)
        kept = checkpoint_metadata(config, metadata)
        saved = place_config(thread_id, ns, checkpoint["id"])
        # The values are encoded before the first wait: the graph goes on and may change them.
        blobs, lines = encode_blobs(serde, checkpoint["channel_values"], new_versions)
        head = checkpoint_lines(checkpoint, kept)
        if thread_id == self._options.thread_id:
            self._written.add(ns)
            if ns == "":
                parent = None if parent_id is None else place_config(thread_id, ns, parent_id)
                self._newest.set(CheckpointTuple(saved, checkpoint, kept, parent, []), [])  # type: ignore[arg-type]
        self._expected.add(checkpoint["id"])
        parent_field = {} if parent_id is None else {"parent_checkpoint_id": parent_id}
        where = {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint["id"], **parent_field}
        await self._write({"method": "checkpoint.put", **where, "blobs": blobs}, [*head, *lines])
        return saved

    async def put_writes(
        self,
        serde: SerializerProtocol,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
    ) -> None:
        thread_id, ns, checkpoint_id = place_of(config)
        if checkpoint_id is None:
            raise ValueError("writes need configurable.checkpoint_id")
        if self._is_stopping and any(isinstance(value, asyncio.CancelledError) for _, value in writes):
            return
        described, lines = encode_writes(serde, writes, task_id, task_path)
        if thread_id == self._options.thread_id and ns == "":
            self._newest.add_writes(checkpoint_id, task_id, task_path, writes)
        self._expected.expect(checkpoint_id)
        where = {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}
        # A task whose writes are saved does not run again, so its events must be out first.
        await self._write({"method": "checkpoint.put_writes", **where, "writes": described}, lines)

    async def _write(self, fields: Header, lines: Lines) -> None:
        """Sends a write after all earlier writes, and after the events that led to it."""
        options = self._options
        if options.claim is None:
            raise RuntimeError("checkpoints are written by runs, not by calls about a thread")
        may_wait = {} if options.awaits_commits else {"may_wait": True}
        before = self._last_sent
        sent: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._last_sent = sent
        # A separate task, so that a started write is finished although its caller was cancelled.
        work = asyncio.ensure_future(self._send({**fields, **options.claim, **may_wait}, lines, before, sent))
        self._pending.add(work)
        work.add_done_callback(self._settled)
        await asyncio.shield(work if options.awaits_commits else sent)

    async def _send(
        self, fields: Header, lines: Lines, before: asyncio.Future[None] | None, sent: asyncio.Future[None]
    ) -> None:
        try:
            # Not one after the other, so that writes of one tick are also sent together, and share a commit.
            if self._options.events_written is not None:
                await self._options.events_written()
            if before is not None:
                await before
            reply = asyncio.ensure_future(self._call(fields, lines))
            # The call is sent in the next turn of the event loop.
            await asyncio.sleep(0)
        finally:
            if not sent.done():
                sent.set_result(None)
        await reply

    async def _call(self, fields: Header, lines: Lines = ()) -> Frame:
        if self._closed is not None:
            raise self._closed
        return await self._options.call(fields, lines)

    def _settled(self, work: asyncio.Future[None]) -> None:
        self._pending.discard(work)
        # Retrieves the error, so that asyncio does not report it as never retrieved. The run handles a lost claim where the call fails.
        error = None if work.cancelled() else work.exception()
        if error is not None and not self._options.awaits_commits:
            self._options.on_refused(error)
