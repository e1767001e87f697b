"""HTTP/1.1 messages on a stream: heads and bodies, read strictly. Whatever two parsers could read differently is rejected, so
that a body is never taken for a request."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from typing import Literal

#: Names in lower case and values, in order.
Headers = list[tuple[bytes, bytes]]
#: The length of a body in bytes; `until close` exists only for responses.
Framing = int | Literal["chunked", "until close"]

# Node's own limit is 16 KB for a head; headers with a user can be longer.
longest_head = 64 * 1024
_piece = 64 * 1024
# Trailers are only checked.
_most_trailers = 100

_token = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_header = re.compile(rb"(" + _token + rb"):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*?)[ \t]*")
_chunk_size = re.compile(rb"([0-9A-Fa-f]{1,12})(?:[ \t]*;[^\x00-\x08\x0a-\x1f\x7f]*)?\r\n")
_length = re.compile(rb"[0-9]{1,15}")

#: They describe one connection, and are not forwarded.
_hop_by_hop = {
    *(b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    *(b"proxy-authenticate", b"proxy-authorization", b"http2-settings"),
}


class BadMessage(Exception):
    """The bytes are not a valid message."""


async def read_head(reader: asyncio.StreamReader) -> tuple[bytes, Headers] | None:
    """:returns: the first line and the headers; None when the stream has ended before the first byte
    :raises BadMessage: the head is invalid, too long, or incomplete
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if not error.partial:
            return None
        raise BadMessage("the head is incomplete") from error
    except asyncio.LimitOverrunError as error:
        raise BadMessage("the head is too long") from error
    first, *lines = head[:-4].split(b"\r\n")
    return first, [_parse_header(line) for line in lines]


def _parse_header(line: bytes) -> tuple[bytes, bytes]:
    found = _header.fullmatch(line)
    if found is None:
        raise BadMessage(f"a header is invalid: {line[:100]!r}")
    return found[1].lower(), found[2]


def values_of(headers: Headers, name: bytes) -> Sequence[bytes]:
    return [value for each, value in headers if each == name]


def framing_of(headers: Headers) -> Framing | None:
    """:returns: None when the headers name neither a length nor chunks"""
    lengths, codings = values_of(headers, b"content-length"), values_of(headers, b"transfer-encoding")
    if not lengths and not codings:
        return None
    if lengths and codings or len(lengths) + len(codings) > 1:
        raise BadMessage("the length of the body is given twice")
    if codings:
        if codings[0].lower() != b"chunked":
            raise BadMessage("the body has an unknown transfer coding")
        return "chunked"
    if _length.fullmatch(lengths[0]) is None:
        raise BadMessage("the length of the body is not a number")
    return int(lengths[0])


async def read_body(reader: asyncio.StreamReader, framing: Framing) -> AsyncIterator[bytes]:
    """:raises BadMessage: the body is invalid or incomplete"""
    try:
        if framing == "chunked":
            async for piece in _read_chunks(reader):
                yield piece
        elif framing == "until close":
            while piece := await reader.read(_piece):
                yield piece
        else:
            async for piece in _read_exactly(reader, framing):
                yield piece
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise BadMessage("the body is incomplete") from error


async def _read_exactly(reader: asyncio.StreamReader, length: int) -> AsyncIterator[bytes]:
    left = length
    while left > 0:
        piece = await reader.read(min(left, _piece))
        if not piece:
            raise BadMessage("the body is incomplete")
        left -= len(piece)
        yield piece


async def _read_chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while True:
        found = _chunk_size.fullmatch(await reader.readuntil(b"\r\n"))
        if found is None:
            raise BadMessage("the size of a chunk is invalid")
        size = int(found[1], 16)
        if size == 0:
            break
        async for piece in _read_exactly(reader, size):
            yield piece
        if await reader.readexactly(2) != b"\r\n":
            raise BadMessage("a chunk is longer than its size")
    for _ in range(_most_trailers):
        line = await reader.readuntil(b"\r\n")
        if line == b"\r\n":
            return
        if _parse_header(line[:-2])[0] in (b"content-length", b"transfer-encoding"):
            raise BadMessage("a trailer frames the body")
    raise BadMessage("there are too many trailers")


def end_to_end(headers: Headers, *without: bytes) -> Headers:
    """The headers for the next hop."""
    listed = {name.strip().lower() for value in values_of(headers, b"connection") for name in value.split(b",")}
    stopped = (_hop_by_hop | listed | set(without)) - {b"host"}
    return [(name, value) for name, value in headers if name not in stopped]


def head_bytes(first: bytes, headers: Headers) -> bytes:
    """:raises ValueError: a name or value would be read as more than one header"""
    for name, value in headers:
        if _header.fullmatch(name + b":" + value) is None:
            raise ValueError(f"the header {name[:100]!r} is invalid")
    return b"".join((first, b"\r\n", *(name + b": " + value + b"\r\n" for name, value in headers), b"\r\n"))


def chunk_bytes(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


last_chunk = b"0\r\n\r\n"
