"""LangGraph's `BaseCheckpointSaver`, with a server behind it instead of a database.

Graphs are executed by `astream`, which uses the async methods. The other methods are for user code in threads, such as a
node that is not a coroutine and invokes another graph. All run on the worker's event loop, also when user code has one of its own.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from ..connection.worker_loop import from_any_loop, on_loop
from .checkpoint_link import CheckpointLink
from .gathering_link import GatheringLink

if TYPE_CHECKING:
    # Older libraries, without delta channels, do not have it.
    from langgraph.checkpoint.base import DeltaChannelHistory


class Checkpointer(BaseCheckpointSaver[str]):
    """
    :param on_new_version: called when the graph is about to change a channel: first when it applies the input
    :param on_put: called on the worker's loop with the metadata of each checkpoint, before it is saved
    :param repeats_step: whether the run continues from the middle of a super-step of an earlier attempt
    """

    def __init__(
        self,
        link: CheckpointLink | GatheringLink,
        on_new_version: Callable[[], None] = lambda: None,
        on_put: Callable[[CheckpointMetadata], None] = lambda _: None,
        repeats_step: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__()
        self._link = link
        self._on_new_version = on_new_version
        self._on_put = on_put
        self._repeats_step = repeats_step
        self._loop = asyncio.get_running_loop()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        found = await from_any_loop(self._loop, self._link.get(self.serde, config))
        if found is not None and self._repeats_step():
            _begin_anew(found, config)
        return found

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        for each in await self._list(config, filter=filter, before=before, limit=limit):
            yield each

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """LangGraph's own version calls `aget_tuple` for each ancestor, and would miss those kept only for this method."""
        return await from_any_loop(self._loop, self._link.history(self.serde, config, channels))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        async def put() -> RunnableConfig:
            self._on_put(metadata)
            return await self._link.put(self.serde, config, checkpoint, metadata, new_versions)

        return await from_any_loop(self._loop, put())

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await from_any_loop(self._loop, self._link.put_writes(self.serde, config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        raise NotImplementedError(f"thread {thread_id} is deleted through the API, not from within a graph")

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return on_loop(self._loop, self.aget_tuple(config))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return on_loop(self._loop, self.aget_delta_channel_history(config=config, channels=channels))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        yield from on_loop(self._loop, self._list(config, filter=filter, before=before, limit=limit))

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return on_loop(self._loop, self.aput(config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        on_loop(self._loop, self.aput_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        on_loop(self._loop, self.adelete_thread(thread_id))

    def get_next_version(self, current: str | None, channel: None) -> str:
        """A version names one value forever, since a thread's checkpoints share blobs by channel and version; the random
        part makes the versions of two branches differ. The form is that of LangGraph's own Postgres saver."""
        self._on_new_version()
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.random():016}"

    async def _list(self, config: RunnableConfig | None, **options: Any) -> Sequence[CheckpointTuple]:
        if config is None:
            raise ValueError("checkpoints are listed of one thread: name it in configurable.thread_id")
        return await from_any_loop(self._loop, self._link.list(self.serde, config, **options))


def _begin_anew(found: CheckpointTuple, config: RunnableConfig) -> None:
    """When LangGraph continues a super-step, it lets every subgraph of the step continue from its newest checkpoint. A subgraph that
    keeps its checkpoints (`checkpointer=True`) may not have begun in this step: then it would return an old answer to a new input."""
    configurable, parents = config["configurable"], found.metadata.get("parents")
    is_subgraph = bool(configurable.get("checkpoint_ns")) and parents is not None
    if is_subgraph and configurable.get("__pregel_resuming") and parents != configurable.get("checkpoint_map"):
        configurable["__pregel_resuming"] = False
