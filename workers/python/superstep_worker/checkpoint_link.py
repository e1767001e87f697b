"""The checkpoints of one run (or of one question about a thread), kept by the server and reached over calls.

It remembers the newest checkpoint of its thread's root, since while a run holds its claim nobody else writes one: the
questions at the end of a run then cost no round trip. It stops with `close`: afterwards every call fails with the reason
given, and `idle` has told when the last one was answered (W3).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol

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
from .connection import Lines
from .expected_checkpoints import ExpectedCheckpoints
from .frames import Frame, Header
from .newest_checkpoint import NewestCheckpoint
from .open_questions import without_answered

if TYPE_CHECKING:
    # Libraries of before delta channels do not have it.
    from langgraph.checkpoint.base import DeltaChannelHistory

Call = Callable[[Header, Lines], Awaitable[Frame]]


@dataclass(frozen=True)
class LinkOptions:
    #: How a question reaches the server.
    call: Call
    #: The run's thread. A graph that a node calls with a thread of its own comes here too, and is never taken for it.
    thread_id: str
    #: False when that thread has no checkpoint, which saves asking.
    has_checkpoint: bool
    #: Named by every write; a reader has none.
    claim: Mapping[str, str] | None = None
    #: Returns when every event that came before has been written to the socket (W2).
    events_written: Callable[[], Awaitable[None]] | None = None


class CheckpointGone(LookupError):
    """The thread was pruned, or a run of it deleted, after the checkpoint was loaded. The server knows this name."""


class CheckpointLink:
    def __init__(self, options: LinkOptions) -> None:
        self._options = options
        self._pending: set[asyncio.Future[Any]] = set()
        # Namespaces of the run's thread.
        self._written: set[str] = set()
        self._newest = NewestCheckpoint()
        self._expected = ExpectedCheckpoints()
        self._is_stopping = False
        self._closed: Exception | None = None

    def newest(self) -> CheckpointTuple | None:
        """The root's newest checkpoint as far as this run knows it."""
        return self._newest.get()

    async def idle(self) -> None:
        """Returns when all calls have their answers, good or bad."""
        while self._pending:
            await asyncio.wait(set(self._pending))

    async def answered_so_far(self) -> None:
        """Returns when what was asked to be written so far is answered, with the checkpoints that it belongs to."""
        await self._expected.asked()
        # A checkpoint that has just been asked for is on its way in the next turn of the event loop.
        await asyncio.sleep(0)
        if self._pending:
            await asyncio.wait(set(self._pending))

    def expect_no_more(self) -> None:
        """What was written for checkpoints that did not come does not wait for them any more: a graph that failed may not
        save them."""
        self._expected.close()

    def stop(self) -> None:
        """The run is being cancelled: that its tasks were stopped is no error of theirs to keep."""
        self._is_stopping = True

    def close(self, reason: Exception) -> None:
        """From now on every call fails with `reason`."""
        self._closed = self._closed or reason
        self._expected.close()

    async def get(self, serde: SerializerProtocol, config: RunnableConfig) -> CheckpointTuple | None:
        found = await self._find(serde, config)
        return None if found is None else without_answered(found)

    async def _find(self, serde: SerializerProtocol, config: RunnableConfig) -> CheckpointTuple | None:
        thread_id, ns, checkpoint_id = place_of(config)
        is_root = thread_id == self._options.thread_id and ns == ""
        known = self.newest() if is_root else None
        if known is not None and checkpoint_id in (None, known.checkpoint["id"]):
            return known
        if self._is_new(thread_id, ns):
            return None
        # A question must not overtake the writes it is about.
        await self.idle()
        wanted = {} if checkpoint_id is None else {"checkpoint_id": checkpoint_id}
        question = {"method": "checkpoint.get", "thread_id": thread_id, "checkpoint_ns": ns, **wanted}
        reply = decode_tuples(serde, thread_id, await self._call(question))
        if not reply:
            return None
        [(found, writes)] = reply
        self._expected.add(found.checkpoint["id"])
        if is_root and checkpoint_id is None:
            self._newest.set(found, writes)
        return found

    async def history(
        self, serde: SerializerProtocol, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Reads, in one call, what channels without a stored value at a checkpoint are rebuilt from.

        :raises CheckpointGone: an empty history would read as an empty channel
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
        """The run's thread had no checkpoint, and the run has written none in this namespace: there is nothing to ask."""
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
        reply = await self._call({name: value for name, value in question.items() if value is not None})
        return [without_answered(found) for found, _ in decode_tuples(serde, thread_id, reply)]

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
        claim, events_written = self._options.claim, self._options.events_written
        if claim is None:
            raise RuntimeError("checkpoints are written by runs, not by questions about a thread")

        async def write() -> None:
            if events_written is not None:
                await events_written()
            await self._call({**fields, **claim}, lines)

        await self._tracked(write())

    async def _call(self, fields: Header, lines: Lines = ()) -> Frame:
        if self._closed is not None:
            raise self._closed
        return await self._options.call(fields, lines)

    async def _tracked(self, work: Coroutine[Any, Any, None]) -> None:
        # A task of its own: a write that has begun is finished although whoever asked for it was cancelled.
        task = asyncio.ensure_future(work)
        self._pending.add(task)
        task.add_done_callback(self._settled)
        await asyncio.shield(task)

    def _settled(self, task: asyncio.Future[None]) -> None:
        self._pending.discard(task)
        # Looked at here, since nobody else may: the run learns of a lost claim where the call fails.
        if not task.cancelled():
            task.exception()
