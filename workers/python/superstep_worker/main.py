"""A worker process: connects to its server, loads what it is told, executes runs. It ends when the socket closes (exit 0
after `stop`), or non-zero when user code ends it, or when the worker itself has a bug."""

from __future__ import annotations

import asyncio
import io
import os
import platform
import sys
import traceback

from .config import read_config
from .connection import Connection
from .runner import Runner

# The server's watch over its children tells these apart from the codes of user code.
_connection_lost = 70
_uncaught = 71


def main() -> None:
    # What user code prints is to be seen when it is printed, not when a buffer is full.
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(line_buffering=True)
    try:
        asyncio.new_event_loop().run_until_complete(_serve())
    except BaseException:
        # User code raised SystemExit, or the worker has a bug.
        _leave(_uncaught, traceback.format_exc())


async def _serve() -> None:
    try:
        config = read_config(os.environ)
    except ValueError as error:
        _leave(_connection_lost, str(error))
        return

    def on_close(reason: str) -> None:
        _leave(_connection_lost, f"worker {config.worker_id} ends: {reason}")

    loop = asyncio.get_running_loop()
    try:
        _, connection = await loop.create_unix_connection(lambda: Connection(on_close), config.socket_path)
    except OSError as error:
        _leave(_connection_lost, f"worker {config.worker_id} cannot reach its server: {error}")
        return
    runner = Runner(connection, on_bug=lambda error: _leave(_uncaught, "".join(traceback.format_exception(error))))
    connection.listen(runner.on_frame)
    connection.send(
        {
            "type": "hello",
            "protocol": 1,
            "worker_id": config.worker_id,
            "pid": os.getpid(),
            "language": "python",
            "language_version": platform.python_version(),
        }
    )
    # Every end of this process is an exit.
    await asyncio.Event().wait()


def _leave(code: int, why: str) -> None:
    """At once: threads of user code would keep an ordinary exit waiting."""
    try:
        print(why, file=sys.stderr, flush=True)
    finally:
        # Who reads standard error may have died with the server.
        os._exit(code)
