"""One HTTP request of an ASGI app and its response."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any

from ..values.serialise import stack_of
from .asgi import App, Message, Scope
from .http_message import BadMessage, Headers, chunk_bytes, end_to_end, head_bytes, last_chunk, values_of


class WatchedReader(asyncio.StreamReader):
    """Knows when the other side has closed the connection, also while nobody reads."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit=limit)
        self.closed = asyncio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.closed.set()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self.closed.set()


class HttpExchange:
    """One request and its response."""

    def __init__(
        self, scope: dict[str, Any], body: AsyncIterator[bytes], reader: WatchedReader, writer: asyncio.StreamWriter
    ) -> None:
        self._is_head = scope["method"] == "HEAD"
        self._closes = b"close" in [each.lower() for each in values_of(scope["headers"], b"connection")]
        self._body = body
        self._reader = reader
        self._writer = writer
        self._body_over = False
        self._bad: BadMessage | None = None
        self._started: tuple[int, Headers] | None = None
        self._is_sent = False
        self._is_over = False
        self._is_chunked = False

    async def run(self, app: App, scope: Scope) -> None:
        try:
            await app(scope, self._receive, self.send)
        except Exception as error:
            # A client that has left is no failure of the app.
            if not self._reader.closed.is_set() and self._bad is None:
                log_error(error)
        if self._bad is not None and not self._is_sent:
            await self.reply(400, str(self._bad))
        elif self._started is None:
            await self.reply(500, "Internal Server Error")
        # An answer that has begun and does not end is broken off (`finish`), also when none of it was sent: what it answers has happened.

    async def reply(self, status: int, text: str) -> None:
        data = text.encode()
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(data))]
        self._started, self._is_over = (status, headers), False
        await self._write_head(status, headers)
        await self._write_body(data, is_last=True)

    async def finish(self) -> bool:
        """:returns: whether the connection can serve another request"""
        if not self._is_over:
            # The other side must see that the response is not complete.
            self._writer.transport.abort()
            return False
        if self._bad is None and not self._body_over:
            try:
                async for _ in self._body:
                    pass
            except BadMessage:
                return False
        return self._bad is None and not self._closes and not self._reader.closed.is_set()

    async def _receive(self) -> Message:
        if not self._body_over:
            try:
                piece = await anext(self._body, None)
            except BadMessage as error:
                self._bad = error
                self._body_over = True
                return {"type": "http.disconnect"}
            self._body_over = piece is None
            return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}
        if self._bad is None and not self._is_over:
            await self._reader.closed.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self._bad is not None:
            return
        kind = message["type"]
        if kind == "http.response.start":
            if self._started is not None:
                raise RuntimeError("the response has started already")
            headers = [(bytes(name).lower(), bytes(value)) for name, value in message.get("headers", ())]
            self._started = (message["status"], headers)
        elif kind == "http.response.body":
            if self._started is None or self._is_over:
                raise RuntimeError("a body was sent before the start of the response, or after its end")
            is_last = not message.get("more_body", False)
            if not self._is_sent:
                await self._write_head(*self._started)
            await self._write_body(bytes(message.get("body", b"")), is_last)

    async def _write_head(self, status: int, headers: Headers) -> None:
        has_length = bool(values_of(headers, b"content-length"))
        can_have_body = not self._is_head and status not in (204, 205, 304)
        self._is_chunked = can_have_body and not has_length
        framed = [*end_to_end(headers), *([(b"transfer-encoding", b"chunked")] if self._is_chunked else [])]
        if self._closes:
            framed.append((b"connection", b"close"))
        self._has_body = can_have_body
        self._writer.write(head_bytes(status_line(status), framed))
        self._is_sent = True

    async def _write_body(self, piece: bytes, is_last: bool) -> None:
        if piece and self._has_body:
            self._writer.write(chunk_bytes(piece) if self._is_chunked else piece)
        if is_last:
            self._is_over = True
            if self._is_chunked:
                self._writer.write(last_chunk)
        await self._writer.drain()


def status_line(status: int) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}".encode()


def log_error(error: Exception) -> None:
    """Shows the app's author where an error was raised; the client does not see it."""
    print(stack_of(error), file=sys.stderr, flush=True)
