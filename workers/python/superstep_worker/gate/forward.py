"""Forwards a request of an ASGI app to the agent server over its Unix socket, streaming in both directions."""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import dataclass
from .asgi import Receive, Scope, Send
from .http_message import (
    BadMessage,
    Framing,
    Headers,
    chunk_bytes,
    end_to_end,
    framing_of,
    head_bytes,
    last_chunk,
    longest_head,
    read_body,
    read_head,
)
from .own_headers import is_own, ticket_header


@dataclass(frozen=True)
class OwnRequest:
    """What the app's own code does not see of its request."""

    #: Identifies the request to the server.
    ticket: str
    #: Set when the client has left.
    left: asyncio.Event


_status_line = re.compile(rb"HTTP/1\.1 ([1-5][0-9]{2})(?: .*)?")


async def forward_request(
    socket_path: str, request: OwnRequest, scope: Scope, receive: Receive, send: Send
) -> None:
    try:
        reader, writer = await asyncio.open_unix_connection(socket_path, limit=longest_head)
    except OSError:
        return await _refuse(send)
    try:
        sending = asyncio.ensure_future(_send_request(writer, request.ticket, scope, receive))
        answering = asyncio.ensure_future(_pass_answer(reader, scope["method"], send))
        # The request is over when its client has left. `receive` may be a middleware's, which need not report that.
        leaving = asyncio.ensure_future(request.left.wait())
        await asyncio.wait({sending, answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        is_cut = sending.done() and sending.exception() is None and not sending.result()
        if not is_cut:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        for task in (leaving, sending, answering):
            task.cancel()
        # An answer may come before the end of the request.
        await asyncio.gather(sending, return_exceptions=True)
        with contextlib.suppress(asyncio.CancelledError):
            await answering
    finally:
        writer.transport.abort()


async def _send_request(writer: asyncio.StreamWriter, ticket: str, scope: Scope, receive: Receive) -> bool:
    """:returns: False when the request ended before its body"""
    target = scope.get("raw_path") or scope["path"].encode()
    query = scope.get("query_string") or b""
    path = target + (b"?" + query if query else b"")
    # A middleware may set any header except our own.
    given: Headers = [(bytes(name).lower(), bytes(value)) for name, value in scope["headers"]]
    headers = [each for each in end_to_end(given, b"content-length", b"expect") if not is_own(each[0])]
    headers.append((ticket_header.encode(), ticket.encode()))
    first = await receive()
    if first["type"] == "http.disconnect":
        return False
    body, has_more = first.get("body", b""), first.get("more_body", False)
    framed = _framed(scope["method"], body, has_more)
    writer.write(head_bytes(scope["method"].encode() + b" " + path + b" HTTP/1.1", [*headers, *framed]))
    if not has_more:
        writer.write(body)
        await writer.drain()
        return True
    while True:
        if body:
            writer.write(chunk_bytes(body))
            await writer.drain()
        if not has_more:
            writer.write(last_chunk)
            await writer.drain()
            return True
        message = await receive()
        if message["type"] == "http.disconnect":
            return False
        body, has_more = message.get("body", b""), message.get("more_body", False)


def _framed(method: str, body: bytes, has_more: bool) -> Headers:
    if has_more:
        return [(b"transfer-encoding", b"chunked")]
    return [(b"content-length", b"%d" % len(body))] if body or method in ("POST", "PUT", "PATCH") else []


_refusal = (
    b'{"detail":"the agent server closed the connection: try again in a moment","code":"unavailable",'
    b'"doc_url":"docs/errors.md#unavailable"}'
)


async def _refuse(send: Send) -> None:
    """The server stops. Otherwise the app would reply with 500, after which no client tries again."""
    headers = [(b"content-type", b"application/json"), (b"retry-after", b"1")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": _refusal, "more_body": False})


async def _pass_answer(reader: asyncio.StreamReader, method: str, send: Send) -> None:
    status = 100
    headers: Headers = []
    while status < 200:
        try:
            head = await read_head(reader)
        except ConnectionError:
            head = None
        if head is None:
            return await _refuse(send)
        found = _status_line.fullmatch(head[0])
        if found is None:
            raise ConnectionResetError("the agent server's answer is invalid")
        status, headers = int(found[1]), head[1]
    await send({"type": "http.response.start", "status": status, "headers": end_to_end(headers)})
    framing: Framing | None = 0 if method == "HEAD" or status in (204, 304) else framing_of(headers)
    try:
        async for piece in read_body(reader, "until close" if framing is None else framing):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    except BadMessage as error:
        raise ConnectionResetError("the agent server's answer is incomplete") from error
    await send({"type": "http.response.body", "body": b"", "more_body": False})
