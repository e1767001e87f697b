"""ASGI apps that answer nothing themselves, and one that reports its headers."""

from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

empty = Starlette()


async def read(request: Request, call_next: Any) -> Any:
    await request.body()
    return await call_next(request)


reads = Starlette(middleware=[Middleware(BaseHTTPMiddleware, dispatch=read)])


async def nobody(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 404, "headers": []})
    await send({"type": "http.response.body"})


def seen(request: Request) -> JSONResponse:
    return JSONResponse(sorted(request.headers.keys()))


class Pretend:
    """Sets our own headers."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] == "/passed":
            made_up = [(b"x-superstep-credential", b"made up"), (b"x-superstep-ticket", b"made up")]
            scope = {**scope, "headers": [*scope["headers"], *made_up]}
        await self.app(scope, receive, send)


reports = Starlette(routes=[Route("/seen", seen)], middleware=[Middleware(Pretend)])

not_an_app = 42
