"""A project's auth module and HTTP app, which are in front of its server. They are loaded in a worker that executes no runs, so
that no graph delays them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from ..connection.frames import Frame, Header
from ..loading.loader import import_export, load_error
from ..values.answer import Answer
from ..values.serialise import stack_of
from .auth_module import AuthModule, drops_actions
from .lifespan import Lifespan


_dropped_actions = (
    "WARNING: the installed langgraph_sdk ignores `actions=` of @auth.on (CVE-2026-104873): a rule for one action of a "
    "resource applies to all of them. Install a newer langgraph-sdk"
)


class Gate:
    def __init__(self, worker_socket: str, worker_id: str) -> None:
        """The app's own socket is created in the same folder."""
        self._socket_path = os.path.join(os.path.dirname(worker_socket), f"{worker_id}.sock")
        self._auth: AuthModule | None = None
        self._lifespan: Lifespan | None = None

    async def load(self, header: Header) -> dict[str, Any]:
        """Loads the module and the app; a failure of one does not affect the other.

        :returns: their fields of `loaded`
        """
        told: dict[str, Any] = {}
        project = header["project"]
        if header.get("auth") is not None:
            try:
                spec = header["auth"]
                self._auth = AuthModule(await asyncio.to_thread(import_export, project, spec), spec)
                told["auth"] = {"handlers": self._auth.handlers}
                sdk = sys.modules.get("langgraph_sdk")
                if sdk is not None and drops_actions(sdk.Auth):
                    print(_dropped_actions, file=sys.stderr, flush=True)
            except (Exception, SystemExit) as error:
                told["auth_error"] = load_error(error, project)
        if header.get("app") is not None:
            try:
                told["app"] = await self._load_app(project, header)
            except (Exception, SystemExit) as error:
                told["app_error"] = load_error(error, project)
        return told

    async def answer(self, frame: Frame) -> Answer:
        try:
            return await self._answer(frame)
        except Exception as error:
            # The log shows the module's author where the error was raised; the server's caller does not see it.
            print(stack_of(error), file=sys.stderr, flush=True)
            raise

    async def end(self) -> None:
        """Lets the app end."""
        if self._lifespan is not None:
            await self._lifespan.end()

    async def _answer(self, frame: Frame) -> Answer:
        if self._auth is None:
            raise LookupError("no auth module is loaded")
        if frame.header["method"] == "auth.authenticate":
            return await self._auth.authenticate(json.loads(frame.line("request")))
        value, user = json.loads(frame.line("value")), json.loads(frame.line("user"))
        return await self._auth.authorize(frame.header["event"], frame.header["handler"], value, user)

    async def _load_app(self, project: str, header: Header) -> dict[str, str]:
        if header.get("loopback") is None:
            raise LookupError("the `load` frame has no loopback socket")
        # Imported only here: workers of graphs need no HTTP server.
        from .project_app import listen_for_app, project_app

        spec = header["app"]
        app = project_app(await asyncio.to_thread(import_export, project, spec), spec)
        self._lifespan = await listen_for_app(app, self._socket_path, header["loopback"])
        return {"socket_path": self._socket_path}
