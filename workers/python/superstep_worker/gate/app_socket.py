"""One WebSocket of an ASGI app. It owns the connection from the handshake to the close. The app gets messages in their order,
answers to pings are sent for it, and it gets `websocket.disconnect` when the client has left (T6)."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import Any

from .asgi import App, Message, Scope, Send
from .http_exchange import HttpExchange, WatchedReader, log_error
from .http_message import Headers, end_to_end, head_bytes, values_of
from .socket_frames import (
    Close,
    MessageReader,
    Ping,
    SocketFailed,
    binary_frame,
    close_bytes,
    frame_bytes,
    ping_frame,
    pong_frame,
    text_frame,
    too_long,
)

# Messages that the app has not received yet; then the client is not read until it receives one.
_most_waiting = 16
# Keeps the connection open in proxies that cut silent ones.
_ping_seconds = 20
# How long the client may take to answer a close.
_close_seconds = 5
_restart = 1012


def is_handshake(scope: dict[str, Any]) -> bool:
    upgrades = [value.lower() for value in values_of(scope["headers"], b"upgrade")]
    return scope["method"] == "GET" and upgrades == [b"websocket"]


def socket_scope(scope: dict[str, Any]) -> dict[str, Any]:
    """The scope of a WebSocket, from that of its handshake."""
    offered = b",".join(values_of(scope["headers"], b"sec-websocket-protocol")).decode("latin-1").split(",")
    return {
        **{name: value for name, value in scope.items() if name != "method"},
        "type": "websocket",
        "scheme": "ws",
        "subprotocols": [name.strip() for name in offered if name.strip()],
        "extensions": {"websocket.http.response": {}},
    }


class AppSocket:
    def __init__(
        self, accept_value: bytes, http: HttpExchange, reader: WatchedReader, writer: asyncio.StreamWriter
    ) -> None:
        self._accept_value = accept_value
        #: Answers a handshake that the app refuses.
        self._http = http
        self._reader = reader
        self._writer = writer
        self._writing = asyncio.Lock()
        self._is_connecting = True
        self._is_refused = False
        self._is_accepted = False
        self._is_closing = False
        self._waiting: deque[Message] = deque()
        self._changed = asyncio.Event()
        self._taken = asyncio.Event()
        self._left = Close(1006, "")
        self._messages = MessageReader(reader)
        self._reading: asyncio.Task[None] | None = None
        self._pinging: asyncio.Task[None] | None = None

    async def run(self, app: App, scope: Scope) -> None:
        """Returns when the connection is over, or the handshake was refused."""
        code = 1000
        try:
            await app(scope, self._receive, self._send)
        except Exception as error:
            code = 1011
            if not self._is_over:
                log_error(error)
        if self._is_accepted:
            await self._end(code)
        elif not self._is_refused:
            await self._http.reply(500, "Internal Server Error")

    @property
    def _is_over(self) -> bool:
        return self._reader.closed.is_set() if self._reading is None else self._reading.done()

    async def _receive(self) -> Message:
        if self._is_connecting:
            self._is_connecting = False
            return {"type": "websocket.connect"}
        if not self._is_accepted:
            await self._reader.closed.wait()
        # No task waits in its stead: it would take a message along when a receive is cancelled.
        while self._is_accepted and not self._waiting and not self._is_over:
            self._changed.clear()
            await self._changed.wait()
        if not self._waiting:
            return {"type": "websocket.disconnect", "code": self._left.code, "reason": self._left.reason}
        self._taken.set()
        return self._waiting.popleft()

    async def _send(self, message: Message) -> None:
        kind = message["type"]
        if kind.startswith("websocket.http.response."):
            await self._refuse({**message, "type": kind.removeprefix("websocket.")})
        elif not self._is_accepted:
            await self._answer(message)
        elif self._is_over or self._is_closing:
            raise ConnectionResetError("the WebSocket is closed")
        elif kind == "websocket.send":
            await self._write(_frame_of(message))
        elif kind == "websocket.close":
            await self._close(message.get("code", 1000), message.get("reason") or "")
        else:
            raise RuntimeError(f"{kind} cannot be sent on an open WebSocket")

    async def _answer(self, message: Message) -> None:
        if message["type"] == "websocket.accept":
            await self._accept(message.get("subprotocol"), list(message.get("headers", ())))
        elif message["type"] == "websocket.close":
            self._is_refused = True
            await self._http.reply(403, "Forbidden")
        else:
            raise RuntimeError(f"{message['type']} was sent before websocket.accept")

    async def _refuse(self, message: Message) -> None:
        if self._is_accepted:
            raise RuntimeError("the WebSocket is open: a response can no longer be sent")
        self._is_refused = True
        await self._http.send(message)

    async def _accept(self, subprotocol: str | None, given: Headers) -> None:
        chosen = [] if subprotocol is None else [(b"sec-websocket-protocol", subprotocol.encode())]
        headers = [
            *((bytes(name).lower(), bytes(value)) for name, value in end_to_end(given)),
            *chosen,
            (b"connection", b"Upgrade"),
            (b"upgrade", b"websocket"),
            (b"sec-websocket-accept", self._accept_value),
        ]
        await self._write(head_bytes(b"HTTP/1.1 101 Switching Protocols", headers))
        self._is_accepted = True
        self._reading = asyncio.ensure_future(self._read())
        self._reading.add_done_callback(lambda _: self._changed.set())
        self._pinging = asyncio.ensure_future(self._ping())

    async def _read(self) -> None:
        try:
            while True:
                message = await self._messages.next()
                if isinstance(message, Close):
                    self._left = message
                    return await self._close(message.code)
                if isinstance(message, Ping):
                    await self._write(frame_bytes(pong_frame, message.payload))
                else:
                    await self._add({"type": "websocket.receive", **_content(message)})
        except SocketFailed as error:
            self._left = Close(error.code, str(error))
            await self._close(error.code, str(error))
        except (ConnectionError, asyncio.IncompleteReadError):
            # The client has left, or the server closes its WebSockets: only then does anybody read this.
            await self._close(_restart, "the server stops: reconnect")

    async def _add(self, message: Message) -> None:
        self._waiting.append(message)
        self._changed.set()
        while len(self._waiting) >= _most_waiting:
            self._taken.clear()
            await self._taken.wait()

    async def _ping(self) -> None:
        while not self._is_closing:
            await asyncio.sleep(_ping_seconds)
            await self._write(frame_bytes(ping_frame, b""))

    async def _close(self, code: int, reason: str = "") -> None:
        if self._is_closing:
            return
        self._is_closing = True
        # A client that has left does not read it.
        with contextlib.suppress(ConnectionError):
            await self._write(close_bytes(code, reason))

    async def _end(self, code: int) -> None:
        assert self._reading is not None and self._pinging is not None
        await self._close(code)
        # Messages that come now are for nobody.
        self._waiting.clear()
        self._taken.set()
        await asyncio.wait({self._reading}, timeout=_close_seconds)
        if self._left.code == too_long:
            with contextlib.suppress(asyncio.TimeoutError, asyncio.IncompleteReadError, ConnectionError, SocketFailed):
                await asyncio.wait_for(self._messages.skip_to_close(), _close_seconds)
        for task in (self._reading, self._pinging):
            task.cancel()
        await asyncio.gather(self._reading, self._pinging, return_exceptions=True)

    async def _write(self, data: bytes) -> None:
        # Python 3.10 allows only one task to wait for the connection.
        async with self._writing:
            self._writer.write(data)
            await self._writer.drain()


def _frame_of(message: Message) -> bytes:
    text: str | None = message.get("text")
    return frame_bytes(binary_frame, message["bytes"]) if text is None else frame_bytes(text_frame, text.encode())


def _content(message: str | bytes) -> Message:
    return {"text": message} if isinstance(message, str) else {"bytes": message}


async def refuse_unknown(send: Send) -> None:
    """Refuses a WebSocket for which the app has no route."""
    body = b'{"detail":"the app has no WebSocket at this path","code":"not_found","doc_url":"docs/errors.md#not_found"}'
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "websocket.http.response.start", "status": 404, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})
