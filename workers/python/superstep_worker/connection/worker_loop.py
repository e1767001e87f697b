"""How user code in threads reaches the worker's event loop, which owns the connection to the server."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


def on_loop(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Result]) -> Result:
    """Waits in a thread for work on the event loop.

    :raises RuntimeError: called on the event loop, which would wait for itself
    """
    try:
        is_on_loop = asyncio.get_running_loop() is loop
    except RuntimeError:
        is_on_loop = False
    if is_on_loop:
        work.close()
        raise RuntimeError("this would block the event loop: use the async method, such as `await graph.aget_state(…)`")
    return asyncio.run_coroutine_threadsafe(work, loop).result()


async def from_any_loop(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Result]) -> Result:
    """Awaits work on the worker's event loop, also from another one, such as that of `asyncio.run` in a plain function."""
    if asyncio.get_running_loop() is loop:
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))
