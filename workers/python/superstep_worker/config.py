"""A worker's settings from its environment; only this file reads the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class WorkerConfig:
    #: Path of the Unix socket to connect to.
    socket_path: str
    #: The worker's name in `hello` and in the server's log.
    worker_id: str
    #: The title of the process in `ps`; None: its command line.
    title: str | None = None


def read_config(env: Mapping[str, str]) -> WorkerConfig:
    """:raises ValueError: naming every missing variable"""
    names = ("SUPERSTEP_WORKER_SOCKET", "SUPERSTEP_WORKER_ID")
    missing = [name for name in names if name not in env]
    if missing:
        raise ValueError(f"a worker is started by an agent server: {' and '.join(missing)} is not set")
    return WorkerConfig(socket_path=env[names[0]], worker_id=env[names[1]], title=env.get("SUPERSTEP_WORKER_TITLE"))
