"""Checkpoints of an update of a thread's state: LangGraph's writes are collected and not sent, since the server commits all
of them or none (protocol/worker, `graph.update_state`). Collected writes are read back as if they were saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointTuple, copy_checkpoint
from langgraph.checkpoint.serde.base import SerializerProtocol

from ..connection.connection import Lines
from .checkpoint_lines import checkpoint_lines, encode_blobs, encode_writes, place_config, place_of
from .checkpoint_link import CheckpointLink
from .checkpoint_metadata import checkpoint_metadata
from .saved_checkpoint import PendingWrites, PlacedCheckpoint, for_graph

if TYPE_CHECKING:
    # Older libraries, without delta channels, do not have it.
    from langgraph.checkpoint.base import DeltaChannelHistory

#: Namespace and checkpoint id.
Place = tuple[str, str]


class GatheringLink:
    def __init__(self, saved: CheckpointLink) -> None:
        """:param saved: reads the server's checkpoints"""
        self._saved = saved
        # All collected writes, in order: the fields of the reply, and their lines.
        self.puts: list[dict[str, Any]] = []
        self.lines: list[tuple[str, str]] = []
        self._checkpoints: dict[Place, CheckpointTuple] = {}
        # By namespace: the last collected checkpoint, from which the next super-step starts.
        self._newest_ids: dict[str, str] = {}
        # For collected checkpoints and for those of the server: the arguments of `PendingWrites.add`.
        self._writes: dict[Place, list[tuple[str, str, Sequence[tuple[str, Any]]]]] = {}

    async def get(self, serde: SerializerProtocol, config: RunnableConfig) -> CheckpointTuple | None:
        found = await self._load(serde, config)
        return None if found is None else for_graph(found)

    async def list(
        self, serde: SerializerProtocol, config: RunnableConfig, **options: Any
    ) -> Sequence[CheckpointTuple]:
        return await self._saved.list(serde, config, **options)

    async def history(
        self, serde: SerializerProtocol, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """A channel's history at a collected checkpoint is the parent's history followed by the parent's writes."""
        target = await self._load(serde, config)
        if target is None or _place(target.config) not in self._checkpoints:
            return await self._saved.history(serde, config, channels)
        parent = None if target.parent_config is None else await self._load(serde, target.parent_config)
        stored = {} if parent is None else parent.checkpoint["channel_values"]
        sought = [channel for channel in channels if channel not in stored]
        older = await self.history(serde, parent.config, sought) if parent is not None and sought else {}
        history: dict[str, DeltaChannelHistory] = {}
        for channel in channels:
            known = older.get(channel, {"writes": []})
            last = [write for write in (parent.pending_writes or [] if parent else []) if write[1] == channel]
            if channel in stored:
                history[channel] = {"writes": last, "seed": stored[channel]}
            else:
                history[channel] = {**known, "writes": [*known["writes"], *last]}
        return history

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
        parent = None if parent_id is None else place_config(thread_id, ns, parent_id)
        self._checkpoints[ns, checkpoint["id"]] = CheckpointTuple(
            saved,
            copy_checkpoint(checkpoint),
            kept,  # type: ignore[arg-type]
            parent,
        )
        self._newest_ids[ns] = checkpoint["id"]
        blobs, lines = encode_blobs(serde, checkpoint["channel_values"], new_versions)
        parent_field = {} if parent_id is None else {"parent_checkpoint_id": parent_id}
        place = {"checkpoint_ns": ns, "checkpoint_id": checkpoint["id"], **parent_field}
        self._gather({**place, "blobs": blobs}, [*checkpoint_lines(checkpoint, kept), *lines])
        return saved

    async def put_writes(
        self,
        serde: SerializerProtocol,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
    ) -> None:
        ns, checkpoint_id = _place(config)
        self._writes.setdefault((ns, checkpoint_id), []).append((task_id, task_path, writes))
        described, lines = encode_writes(serde, writes, task_id, task_path)
        self._gather({"checkpoint_ns": ns, "checkpoint_id": checkpoint_id, "writes": described}, lines)

    async def _load(self, serde: SerializerProtocol, config: RunnableConfig) -> CheckpointTuple | None:
        """Loads a collected checkpoint or one of the server, with the writes that were collected for it."""
        _, ns, checkpoint_id = place_of(config)
        gathered = self._checkpoints.get((ns, checkpoint_id or self._newest_ids.get(ns, "")))
        if gathered is None:
            saved = await self._saved.load(serde, config)
        else:
            # LangGraph changes what it has loaded.
            saved = PlacedCheckpoint(gathered._replace(checkpoint=copy_checkpoint(gathered.checkpoint)), [])
        if saved is None:
            return None
        pending = PendingWrites()
        pending.load(saved.writes)
        for added in self._writes.get(_place(saved.tuple.config), ()):
            pending.add(*added)
        return PlacedCheckpoint.of(saved.tuple, pending.list()).tuple

    def _gather(self, put: dict[str, Any], lines: Lines) -> None:
        self.puts.append(put)
        self.lines.extend(lines)


def _place(config: RunnableConfig) -> Place:
    _, ns, checkpoint_id = place_of(config)
    if checkpoint_id is None:
        raise ValueError("writes need configurable.checkpoint_id")
    return ns, checkpoint_id
