"""Records the spans of one run, as a callback handler of LangChain (decision 93). Its twin is `traces/span-recorder.ts`.

A callback only notes references and the time: values are serialised when they are sent, some times a second and when the run ends. A
graph waits for its handlers, so none of them waits for anything but the lock. Nodes that are plain functions execute in threads, and so do the callbacks
of what they call: the lock keeps what is recorded consistent, and only the event loop's thread sends. It stops with `end`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from .content import content_of
from .span import Kind, OpenSpan, Status, answer_of, model_of, record, span_fields, status_of_raised, text, tokens_of

# Soon enough for a person who watches, and seldom enough that a short run sends its spans once.
_send_every_seconds = 0.25
# More are no help to a person, and a loop must not fill the database.
_most_spans = 5_000
# Keep the pause of the event loop short: at most this many spans, and characters of content, are serialised at once.
_most_per_frame = 50
_most_frame_length = 1024 * 1024
# In characters of content. A run that ends with more to send than this sends only the times of the rest: its end must not take seconds.
_most_flush_length = 8 * 1024 * 1024
# The text of a user's class may take long to make, and a run must not wait for its trace. Once slow values have taken this long
# together, the rest of the run has only times.
_slow_seconds = 0.05
_most_slow_seconds = 2.0
# In characters. Prompts and answers are what people look for; the state around them is in the checkpoints, too.
_content_limits: Mapping[Kind, int] = {
    "model": 32_768,
    "tool": 32_768,
    "retriever": 8_192,
    "chain": 8_192,
    "node": 8_192,
    "graph": 8_192,
}

_hidden_tag = "langsmith:hidden"


@dataclass(frozen=True)
class RecorderOptions:
    trace: Literal["models", "timings", "full"]
    #: Sends a part of the trace: the headers of its spans and the lines of their content.
    send: Callable[[Sequence[Mapping[str, Any]], Sequence[str]], None]
    #: Whether the socket is full, so that sending has to wait.
    is_full: Callable[[], bool]
    #: Returns when the socket has room.
    room: Callable[[], Awaitable[None]]


class SpanRecorder(BaseCallbackHandler):
    # Otherwise each callback of the event loop would be a task of a thread.
    run_inline = True

    def __init__(self, options: RecorderOptions) -> None:
        self._options = options
        self._is_of_models = options.trace == "models"
        self._lock = threading.Lock()
        # Spans that have not ended, by LangChain's id. Of hidden work, and of work that is left out, the span around it.
        self._open: dict[UUID, OpenSpan] = {}
        self._around: dict[UUID, OpenSpan | None] = {}
        self._queue: deque[OpenSpan] = deque()
        self._count = 0
        self._left_out = 0
        # How long values took that were slow to serialise.
        self._slow_seconds = 0.0
        self._is_over = False
        # A clock that does not jump within the run.
        self._clock_ns = time.time_ns() - time.perf_counter_ns()
        self._timer = asyncio.get_running_loop().call_later(_send_every_seconds, self._on_time)

    @property
    def ignore_chain(self) -> bool:
        """LangChain then makes no callbacks of graphs, nodes and chains."""
        return self._is_of_models

    @property
    def ignore_agent(self) -> bool:
        """The same, of tools."""
        return self._is_of_models

    @property
    def ignore_retriever(self) -> bool:
        return self._is_of_models

    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **told: Any,
    ) -> None:
        is_node = any(tag.startswith("graph:step:") for tag in tags or ())
        around = self._span_around(parent_run_id)
        # Only a graph has nodes.
        if is_node and around is not None:
            around.kind = "graph"
        kind: Kind = "node" if is_node else "graph" if parent_run_id is None else "chain"
        name = text(told.get("name")) or _name_of(serialized)
        self._begin(kind, name, inputs, run_id, parent_run_id, tags, metadata)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        self._end(run_id, "success", outputs)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._fail(run_id, error)

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **told: Any,
    ) -> None:
        asked = record(told.get("invocation_params"))
        known = text(record(metadata).get("ls_model_name"))
        model = known or text(asked.get("model")) or text(asked.get("model_name"))
        name = text(told.get("name")) or model or _name_of(serialized)
        prompt = messages[0] if len(messages) == 1 else messages
        span = self._begin("model", name, prompt, run_id, parent_run_id, tags, metadata)
        if span is not None:
            span.model, span.provider = model, text(record(metadata).get("ls_provider"))

    def on_llm_start(self, serialized: Any, prompts: Any, **told: Any) -> None:
        self.on_chat_model_start(serialized, prompts, **told)

    def on_llm_new_token(self, token: Any, *, run_id: UUID, **_: Any) -> None:
        span = self._open.get(run_id)
        if span is not None and span.first_token_us is None:
            span.first_token_us = self._now_us()

    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        span = self._open.get(run_id)
        if span is not None:
            span.response_model = model_of(response)
            span.tokens = tokens_of(response)
        self._end(run_id, "success", answer_of(response))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._fail(run_id, error)

    def on_tool_start(
        self,
        serialized: Any,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **told: Any,
    ) -> None:
        name = text(told.get("name")) or _name_of(serialized)
        given = input_str if inputs is None else inputs
        span = self._begin("tool", name, given, run_id, parent_run_id, tags, metadata)
        if span is not None:
            span.tool_call_id = text(told.get("tool_call_id"))

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        self._end(run_id, "success", output)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._fail(run_id, error)

    def on_retriever_start(
        self,
        serialized: Any,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **told: Any,
    ) -> None:
        name = text(told.get("name")) or _name_of(serialized)
        self._begin("retriever", name, query, run_id, parent_run_id, tags, metadata)

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **_: Any) -> None:
        self._end(run_id, "success", documents)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._fail(run_id, error)

    async def flush(self) -> None:
        """Sends all that is recorded, also the spans that have not ended. Other runs of the worker go on meanwhile."""
        room = _most_flush_length
        while self._queue:
            room -= self._send_some(room)
            if self._queue:
                await asyncio.sleep(0)
                await self._options.room()

    async def end(self) -> None:
        """Sends the rest, and records nothing more. What has not ended is cancelled, since nobody waits for it any more."""
        with self._lock:
            self._is_over = True
            left = list(self._open)
        for run_id in left:
            self._end(run_id, "cancelled")
        await self.flush()
        self.drop()

    def drop(self) -> None:
        """Records nothing more, and sends nothing: the run has moved on."""
        self._timer.cancel()
        with self._lock:
            self._is_over = True
            self._queue.clear()
            self._open = {}
            self._around = {}

    def _begin(
        self,
        kind: Kind,
        name: str,
        given: Any,
        run_id: UUID,
        parent_id: UUID | None,
        tags: list[str] | None,
        metadata: Mapping[str, Any] | None,
    ) -> OpenSpan | None:
        started_us = self._now_us()
        parent = self._span_around(parent_id)
        with self._lock:
            if self._is_over:
                return None
            is_left_out = self._count >= _most_spans
            self._left_out += is_left_out
            if is_left_out or _hidden_tag in (tags or ()):
                self._around[run_id] = parent
                return None
            self._count += 1
            namespace = text(record(metadata).get("langgraph_checkpoint_ns")) or ""
            span = OpenSpan(str(run_id), self._count, parent, kind, name, namespace, started_us)
            span.input = given
            self._open[run_id] = span
            self._enqueue(span)
            return span

    def _end(self, run_id: UUID, status: Status, output: Any = None, error: BaseException | None = None) -> None:
        ended_us = self._now_us()
        with self._lock:
            self._around.pop(run_id, None)
            span = self._open.pop(run_id, None)
            if span is None:
                return
            span.output = output
            span.status = status
            span.error = error if status == "error" else None
            span.ended_us = max(span.started_us, ended_us)
            self._enqueue(span)

    def _fail(self, run_id: UUID, error: BaseException) -> None:
        self._end(run_id, status_of_raised(error), error=error)

    def _span_around(self, parent_id: UUID | None) -> OpenSpan | None:
        if parent_id is None:
            return None
        return self._open.get(parent_id) or self._around.get(parent_id)

    def _enqueue(self, span: OpenSpan) -> None:
        if not span.is_queued:
            span.is_queued = True
            self._queue.append(span)

    def _on_time(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_send_every_seconds, self._on_time)
        if self._queue and not self._options.is_full():
            self._send_some(_most_frame_length)

    def _next(self) -> OpenSpan | None:
        """The first of the queue as it is now: a thread may end it while it is serialised, and then it is sent again."""
        with self._lock:
            if not self._queue:
                return None
            span = self._queue.popleft()
            span.is_queued = False
            return copy(span)

    def _send_some(self, room: int) -> int:
        """
        :param room: how many characters of content may be sent; of what comes when it is used up, only the headers
        :returns: how many were sent
        """
        headers: list[Mapping[str, Any]] = []
        lines: list[str] = []
        length = 0
        for _ in range(_most_per_frame):
            span = self._next() if length < _most_frame_length else None
            if span is None:
                break
            try:
                line, is_cut = self._content(span, length < room) if self._options.trace == "full" else ("", False)
                length += len(line)
                left_out = {"left_out": self._left_out} if span.parent is None and self._left_out > 0 else {}
                headers.append({**span_fields(span), **({"is_cut": True} if is_cut else {}), **left_out})
                lines.append(line)
            except Exception:
                # An object of a user's class failed. The run must not (W12), so the trace goes on without this span.
                continue
        self._options.send(headers, lines)
        return length

    def _content(self, span: OpenSpan, has_room: bool) -> tuple[str, bool]:
        began = time.perf_counter()
        content = _content_line(span, has_room and self._slow_seconds < _most_slow_seconds)
        took = time.perf_counter() - began
        if took > _slow_seconds:
            self._slow_seconds += took
        return content

    def _now_us(self) -> int:
        return (self._clock_ns + time.perf_counter_ns()) // 1000


def _content_line(span: OpenSpan, has_room: bool) -> tuple[str, bool]:
    if not has_room:
        return '{"input":"… (left out: the trace has too much content, or values that are slow to read)"}', True
    limit = _content_limits[span.kind]
    given, is_cut = content_of(span.input, limit)
    if span.output is None:
        return f'{{"input":{given}}}', is_cut
    returned, is_output_cut = content_of(span.output, limit)
    return f'{{"input":{given},"output":{returned}}}', is_cut or is_output_cut


def _name_of(serialized: Any) -> str:
    """The name of the class of something that LangChain has serialised."""
    told = record(serialized)
    path = told.get("id")
    return text(told.get("name")) or (text(path[-1]) if isinstance(path, list) and path else None) or "unnamed"
