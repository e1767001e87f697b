"""A worker process: connects to its server, loads the graphs of the `load` frame, executes runs. It exits when the socket
closes (with 0 after `stop`), or with another code when user code ends it, or when the worker itself has a bug."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

from .config import read_config
from .connection.connection import Connection
from .gate.gate import Gate
from .process_title import set_process_title
from .runs.run_output import end_output, mark_output
from .runs.runner import Runner
from .runs.uncaught import assign_errors

# The server distinguishes these exit codes from those of user code. docs/errors.md explains them; a test compares the two.
_connection_lost = 70
_uncaught = 71

# Nodes that are plain functions run in threads, and one that blocks keeps its thread even after its run was cancelled. asyncio's own limit of
# 32 or fewer would let a few of them stop all other runs. A function that gets no thread waits for one. A thread is
# only started when all others are busy. Below the 4096 processes and threads that a unit may have: beyond them no thread can start.
_most_threads = 2_000


def main() -> None:
    mark_output()
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

    if config.title is not None:
        set_process_title(config.title)

    def on_close(reason: str) -> None:
        _leave(_connection_lost, f"worker {config.worker_id} exits: {reason}")

    loop = asyncio.get_running_loop()
    assign_errors(loop)
    loop.set_default_executor(ThreadPoolExecutor(_most_threads, thread_name_prefix="node"))
    try:
        _, connection = await loop.create_unix_connection(lambda: Connection(on_close), config.socket_path)
    except OSError as error:
        _leave(_connection_lost, f"worker {config.worker_id} cannot reach its server: {error}")
        return
    gate = Gate(config.socket_path, config.worker_id)
    runner = Runner(connection, gate, lambda error: _leave(_uncaught, "".join(traceback.format_exception(error))))
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
    # The process always ends by an explicit exit.
    await asyncio.Event().wait()


def _leave(code: int, why: str) -> None:
    """Exits at once: an ordinary exit would wait for threads of user code."""
    try:
        print(why, file=sys.stderr, flush=True)
        end_output(None)
    finally:
        # The reader of standard error may have died with the server.
        os._exit(code)
