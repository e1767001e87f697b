"""Routes and middleware of a project: they add, shadow and wrap routes of the server."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response, WebSocket, WebSocketDisconnect
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from langgraph_sdk import get_client

delivered: Any = None
left: Any = None
seen = 0


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, str]]:
    print("the app starts")
    yield {"started": "yes"}
    print("the app ends")


app = FastAPI(lifespan=lifespan)


class ChangeBody:
    """A middleware without Starlette's help, which replaces the body of a run."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        if not scope.get("path", "").startswith("/runs/") or b"x-say" not in headers:
            await self.app(scope, receive, send)
            return
        body = await Request(scope, receive).json()
        changed = json.dumps({**body, "input": {"text": headers[b"x-say"].decode()}}).encode()

        async def changed_body() -> Any:
            return {"type": "http.request", "body": changed, "more_body": False}

        await self.app(scope, changed_body, send)


app.add_middleware(ChangeBody)


@app.middleware("http")
async def wrap(request: Request, call_next: Any) -> Any:
    global seen
    seen += 1
    if "interrupt" in request.query_params:
        return JSONResponse({"status": "interrupted"})
    read = await request.json() if request.method == "POST" and request.url.path == "/threads" else None
    response = await call_next(request)
    response.headers["x-wrapped"] = request.url.path
    if read is not None:
        response.headers["x-read-first"] = json.dumps(read, separators=(",", ":"))
    return response


@app.exception_handler(HTTPException)
async def as_text(request: Request, error: HTTPException) -> PlainTextResponse:
    return PlainTextResponse(error.detail, error.status_code)


@app.get("/custom/who")
async def who(request: Request) -> Any:
    return request.user.identity if "user" in request.scope else None


@app.get("/custom/hello")
def hello(request: Request) -> Any:
    return {"hello": request.headers.get("x-name", "you")}


@app.get("/custom/seen")
async def count() -> Any:
    return {"seen": seen}


@app.get("/custom/started")
async def started(request: Request) -> Any:
    return request.state.started


@app.get("/custom/error")
async def error() -> None:
    raise HTTPException(418, "no coffee")


@app.get("/custom/long-header")
async def long_header() -> Response:
    return Response(headers={"x-long": "a" * 300_000})


@app.get("/custom/bug")
async def bug() -> None:
    raise RuntimeError("a bug")


@app.get("/custom/end")
async def end() -> None:
    os._exit(3)


@app.get("/custom/words")
async def words() -> StreamingResponse:
    async def write() -> AsyncIterator[str]:
        for word in ("one", "two"):
            yield f"{word}\n"
        # The rest never comes: a reader sees that nothing waits for the end.
        await asyncio.Event().wait()

    return StreamingResponse(write())


@app.websocket("/custom/socket")
async def echo(websocket: WebSocket) -> None:
    global left
    offered = websocket.scope["subprotocols"]
    await websocket.accept("echo" if "echo" in offered else None, headers=[(b"x-from", b"socket")])
    if "user" in websocket.scope:
        await websocket.send_text(websocket.user.identity)
    try:
        while True:
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message["code"], message.get("reason"))
            if message.get("text") == "close":
                await websocket.close(4321, "as you wish")
            elif message.get("text") == "fail":
                raise RuntimeError("a bug")
            else:
                await websocket.send({**message, "type": "websocket.send"})
    except WebSocketDisconnect as error:
        left = [error.code, error.reason]


@app.websocket("/custom/flood")
async def flood(websocket: WebSocket) -> None:
    """Only sends, until its client has left."""
    global left
    await websocket.accept()
    try:
        while True:
            await websocket.send_bytes(bytes(100_000))
    except WebSocketDisconnect as error:
        left = [error.code, error.reason]


@app.websocket("/custom/refused")
async def refused(websocket: WebSocket) -> None:
    if "reason" in websocket.query_params:
        await websocket.send_denial_response(JSONResponse({"detail": "not today"}, 429, {"retry-after": "60"}))
    else:
        await websocket.close()


@app.get("/custom/left")
async def how_the_last_socket_ended() -> Any:
    return left


@app.get("/custom/client")
async def client() -> Any:
    return await get_client().runs.wait(None, "echo", input={"text": "myself"})


@app.post("/custom/hook")
async def hook(request: Request) -> Any:
    global delivered
    delivered = await request.json()
    return {"ok": True}


@app.get("/custom/delivered")
async def last() -> Any:
    return delivered


@app.get("/runs/afakeroute")
async def fake() -> Any:
    return {"fake": True}


@app.get("/threads")
async def shadow() -> Any:
    """The server's POST to the same path stays reachable."""
    return {"threads": "mine"}
