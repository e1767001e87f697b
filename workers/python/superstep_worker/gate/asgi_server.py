"""An ASGI server on a Unix socket, for requests of the agent server. It owns the socket and its connections. A connection
serves one request after the other; when it closes, its request gets `http.disconnect`, so that streams end (T6)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from .app_socket import AppSocket, is_handshake, socket_scope
from .asgi import App, Scope
from .http_exchange import HttpExchange, WatchedReader, status_line
from .http_message import BadMessage, Headers, framing_of, head_bytes, longest_head, read_body, read_head
from .socket_frames import accept_value

_request_line = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([^\x00-\x20\x7f]+) HTTP/1\.1")
#: Makes the scope of a request, or the status and the text of a refusal. The event is set when the client leaves.
ScopeOf = Callable[[dict[str, Any], asyncio.Event], "Scope | tuple[int, str]"]


async def serve_app(app: App, socket_path: str, scope_of: ScopeOf) -> asyncio.Server:
    """Listens until the process ends."""

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert isinstance(reader, WatchedReader)
        try:
            while await _serve_request(app, scope_of, reader, writer):
                pass
        except (ConnectionError, BadMessage):
            pass
        finally:
            writer.close()

    loop = asyncio.get_running_loop()

    def protocol() -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(WatchedReader(longest_head), on_connection)

    return await loop.create_unix_server(protocol, socket_path)


async def _serve_request(app: App, scope_of: ScopeOf, reader: WatchedReader, writer: asyncio.StreamWriter) -> bool:
    """:returns: whether the connection can serve another request"""
    try:
        head = await read_head(reader)
        if head is None:
            return False
        scope, framing = _scope(*head)
        accept = accept_value(scope["headers"]) if is_handshake(scope) else None
    except BadMessage as error:
        await _refuse(writer, 400, str(error))
        return False
    body = read_body(reader, framing)
    exchange = HttpExchange(scope, body, reader, writer)
    made = scope_of(scope if accept is None else socket_scope(scope), reader.closed)
    if isinstance(made, tuple):
        await exchange.reply(*made)
    elif accept is not None:
        await AppSocket(accept, exchange, reader, writer).run(app, made)
        return False
    else:
        await exchange.run(app, made)
    return await exchange.finish()


def _scope(first: bytes, headers: Headers) -> tuple[dict[str, Any], Any]:
    line = _request_line.fullmatch(first)
    if line is None:
        raise BadMessage("the request line is invalid")
    path, _, query = line[2].partition(b"?")
    framing = framing_of(headers)
    scope = {
        "type": "http",
        # With 2.4 an app would notice that its client has left only when it sends something.
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": line[1].decode().upper(),
        "scheme": "http",
        "path": unquote(path.decode("latin-1")),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": None,
        "server": None,
    }
    return scope, 0 if framing is None else framing


async def _refuse(writer: asyncio.StreamWriter, status: int, text: str) -> None:
    headers = [(b"content-length", b"%d" % len(text.encode())), (b"connection", b"close")]
    writer.write(head_bytes(status_line(status), headers) + text.encode())
    await writer.drain()
