"""The start and the end of an ASGI app, such as FastAPI's `lifespan`."""

from __future__ import annotations

import asyncio
from typing import Any

from .asgi import App, Message

# A worker has two seconds to exit after `stop`.
_end_seconds = 1


class Lifespan:
    def __init__(self, app: App) -> None:
        self._app = app
        self._told: asyncio.Queue[Message] = asyncio.Queue()
        self._replies: asyncio.Queue[Message] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        #: Set by the app's start; each request gets a copy.
        self.state: dict[str, Any] = {}

    async def start(self) -> None:
        """:raises RuntimeError: the app's start failed"""
        self._task = asyncio.ensure_future(self._run())
        reply = await self._ask("lifespan.startup")
        if reply is not None and reply["type"] == "lifespan.startup.failed":
            raise RuntimeError(f"the start of the app failed: {reply.get('message') or 'see the log'}")

    async def end(self) -> None:
        """Returns when the app has ended, or takes too long."""
        try:
            await asyncio.wait_for(self._ask("lifespan.shutdown"), _end_seconds)
        except asyncio.TimeoutError:
            pass

    async def _ask(self, kind: str) -> Message | None:
        """:returns: None when the app has ended, such as one without a lifespan, which raises an error"""
        assert self._task is not None
        self._told.put_nowait({"type": kind})
        reply = asyncio.ensure_future(self._replies.get())
        await asyncio.wait({reply, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if reply.done():
            return reply.result()
        reply.cancel()
        return None

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self.state}
        try:
            await self._app(scope, self._told.get, self._replies.put)
        except Exception:
            # The specification's way to say that the app has no lifespan.
            pass
