"""A project's own HTTP app, an ASGI app such as FastAPI, on a Unix socket (agent-server-api §13.1). Requests that it does not
answer are forwarded to the server's routes from inside its middleware. So the middleware wraps these routes: it sees their
responses, including streams, and may change their requests."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from ..values.user import User
from .app_socket import refuse_unknown
from .asgi import App, Message, Receive, Scope, Send
from .asgi_server import serve_app
from .forward import OwnRequest, forward_request
from .lifespan import Lifespan
from .own_headers import is_signed_ticket, take_own_headers, ticket_header, user_header

#: The request that is being answered.
_request: ContextVar[OwnRequest] = ContextVar("superstep_request")


@dataclass(frozen=True)
class AuthCredentials:
    """What Starlette finds at `request.auth`."""

    scopes: Sequence[str]


def project_app(exported: Any, origin: str) -> App:
    """:raises TypeError: describing what was exported instead of an app"""
    if callable(exported) and not isinstance(exported, type):
        try:
            inspect.signature(exported).bind({}, None, None)
            return exported  # type: ignore[no-any-return]
        except (TypeError, ValueError):
            pass
    described = "None" if exported is None else f"a {type(exported).__name__}"
    raise TypeError(f"{origin} is not an ASGI app but {described}: export a FastAPI or Starlette app")


async def listen_for_app(app: App, socket_path: str, loopback: Mapping[str, str]) -> Lifespan:
    """Listens until the process ends. Only requests of the server are answered: the app may rely on what the server has
    determined about them, so no other process may send one.

    :param loopback: the server's socket for requests that the app does not answer, and the credential that signs its tickets
    """
    lifespan = Lifespan(app)
    await lifespan.start()
    server_socket, credential = loopback["socket_path"], loopback["credential"]

    async def onward(scope: Scope, receive: Receive, send: Send) -> None:
        # A WebSocket has passed no middleware for HTTP, so it must not reach a route of the server.
        if scope["type"] == "websocket":
            return await refuse_unknown(send)
        await forward_request(server_socket, _request.get(), scope, receive, send)

    def scope_of(scope: dict[str, Any], left: asyncio.Event) -> Scope | tuple[int, str]:
        headers, own = take_own_headers(scope["headers"])
        ticket = own.get(ticket_header, "")
        if not is_signed_ticket(ticket, credential):
            return 403, "this app accepts only requests from its own server"
        _request.set(OwnRequest(ticket, left))
        return {**scope, "headers": headers, "state": dict(lifespan.state), **_user_fields(own.get(user_header))}

    answer = _wrapping(app, onward) if _is_starlette(app) else _in_front_of(app, onward)
    await serve_app(answer, socket_path, scope_of)
    return lifespan


def _user_fields(told: str | None) -> dict[str, Any]:
    """The caller, if the server has authenticated the request before the app."""
    if told is None:
        return {}
    user = User(json.loads(unquote(told)))
    return {"user": user, "auth": AuthCredentials(user.permissions)}


def _is_starlette(app: Any) -> bool:
    return hasattr(getattr(app, "router", None), "default") and hasattr(app.router, "routes")


def _wrapping(app: Any, onward: App) -> App:
    """The app's router calls its `default` from inside the middleware."""
    from starlette.routing import Match

    router = app.router
    own_routes = list(router.routes)

    class OtherMethods:
        """Forwards a request whose path the app has only with other methods, which a router would answer with 405."""

        def matches(self, scope: Scope) -> tuple[Match, dict[str, Any]]:
            known = scope["type"] == "http" and any(route.matches(scope)[0] == Match.PARTIAL for route in own_routes)
            return (Match.FULL if known else Match.NONE), {}

        async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
            await onward(scope, receive, send)

    router.default = onward
    router.routes.append(OtherMethods())
    return app  # type: ignore[no-any-return]


def _in_front_of(app: App, onward: App) -> App:
    """For any other app, a 404 is the only sign that it has no such route; it cannot wrap the server's routes."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            return await app(scope, receive, send)
        received: list[Message] = []
        is_missing = False

        async def recorded() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                received.append(message)
            return message

        async def sent(message: Message) -> None:
            nonlocal is_missing
            if message["type"] == "http.response.start":
                is_missing = message["status"] == 404
            if not is_missing:
                await send(message)

        async def replayed() -> Message:
            return received.pop(0) if received else await receive()

        original = dict(scope)
        await app(scope, recorded, sent)
        if is_missing:
            await onward(original, replayed, send)

    return answer
