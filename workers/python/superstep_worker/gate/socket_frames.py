"""The frames of a WebSocket (RFC 6455), as a server reads and writes them. No extension is agreed on, so messages are not
compressed."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from dataclasses import dataclass

from .http_message import BadMessage, Headers, values_of

_continuation, text_frame, binary_frame, close_frame, ping_frame, pong_frame = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_longest_control = 125
# As in uvicorn.
_longest_message = 16 * 1024 * 1024
_accept_suffix = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

_mask_length = 4
_piece = 64 * 1024

#: The code of a close after a message that is too long.
too_long = 1009
#: Stands for the code of a close without one; it is never sent.
no_code = 1005


class SocketFailed(Exception):
    """The client broke the protocol; the connection is closed with a code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Ping:
    payload: bytes


@dataclass(frozen=True)
class Close:
    code: int
    reason: str


def accept_value(headers: Headers) -> bytes:
    """:returns: the value of `Sec-WebSocket-Accept`
    :raises BadMessage: the request is not a handshake of this version
    """
    if values_of(headers, b"sec-websocket-version") != [b"13"]:
        raise BadMessage("the version of the WebSocket is not 13")
    keys = values_of(headers, b"sec-websocket-key")
    try:
        is_valid = len(keys) == 1 and len(base64.b64decode(keys[0], validate=True)) == 16
    except binascii.Error:
        is_valid = False
    if not is_valid:
        raise BadMessage("the key of the WebSocket is invalid")
    return base64.b64encode(hashlib.sha1(keys[0] + _accept_suffix).digest())


class MessageReader:
    """Reads a client's messages. A ping may come between the frames of one message."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._kind = _continuation
        # Not a list of frames: a client may send any number of frames without content.
        self._data = bytearray()
        self._unread = 0

    async def next(self) -> str | bytes | Ping | Close:
        """:returns: a message, a ping or a close
        :raises SocketFailed: the client broke the protocol
        :raises asyncio.IncompleteReadError: the connection ended without a close
        """
        while True:
            is_last, kind, payload = await self._frame()
            if kind == close_frame:
                return _parse_close(payload)
            if kind == ping_frame:
                return Ping(payload)
            if kind == pong_frame:
                continue
            if (kind == _continuation) != (self._kind != _continuation):
                raise SocketFailed(1002, "a frame is out of order")
            self._kind = kind or self._kind
            self._data += payload
            if is_last:
                return self._take_message()

    def _take_message(self) -> str | bytes:
        data, kind = bytes(self._data), self._kind
        self._kind, self._data = _continuation, bytearray()
        return data if kind == binary_frame else _decode(data)

    async def skip_to_close(self) -> None:
        """Reads and drops what comes after a message that is too long: the client sees the close only when it has sent all."""
        kind = _continuation
        while kind != close_frame:
            while self._unread > 0:
                piece = await self._reader.readexactly(min(self._unread, _piece))
                self._unread -= len(piece)
            _, kind, length = await self._head()
            self._unread = _mask_length + length

    async def _frame(self) -> tuple[bool, int, bytes]:
        is_last, kind, length = await self._head()
        if length + len(self._data) > _longest_message:
            self._unread = _mask_length + length
            raise SocketFailed(too_long, f"a message is longer than {_longest_message} bytes")
        mask = await self._reader.readexactly(_mask_length)
        return is_last, kind, _unmask(await self._reader.readexactly(length), mask)

    async def _head(self) -> tuple[bool, int, int]:
        """:returns: whether the frame is the last one of its message, its kind, and the length of its payload"""
        first, second = await self._reader.readexactly(2)
        kind, length = first & 0x0F, second & 0x7F
        if first & 0x70 or kind not in (_continuation, text_frame, binary_frame, close_frame, ping_frame, pong_frame):
            raise SocketFailed(1002, "a frame has an unknown kind or an extension that was not agreed on")
        if not second & 0x80:
            raise SocketFailed(1002, "a frame of a client must be masked")
        is_last = bool(first & 0x80)
        if kind >= close_frame and (length > _longest_control or not is_last):
            raise SocketFailed(1002, "a control frame is too long or in pieces")
        if length > _longest_control:
            length = int.from_bytes(await self._reader.readexactly(2 if length == 126 else 8), "big")
        return is_last, kind, length


def frame_bytes(kind: int, payload: bytes) -> bytes:
    """One whole message, or a control frame."""
    size = len(payload)
    if size <= _longest_control:
        head = bytes((0x80 | kind, size))
    elif size < 1 << 16:
        head = bytes((0x80 | kind, 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((0x80 | kind, 127)) + size.to_bytes(8, "big")
    return head + payload


def close_bytes(code: int, reason: str = "") -> bytes:
    if code == no_code:
        return frame_bytes(close_frame, b"")
    # Cut between two characters.
    text = reason.encode()[: _longest_control - 2].decode(errors="ignore").encode()
    return frame_bytes(close_frame, code.to_bytes(2, "big") + text)


def _unmask(data: bytes, mask: bytes) -> bytes:
    size = len(data)
    key = (mask * (size // 4 + 1))[:size]
    # One operation on large numbers: a loop over bytes would be a hundred times slower.
    return (int.from_bytes(data, "little") ^ int.from_bytes(key, "little")).to_bytes(size, "little")


def _parse_close(payload: bytes) -> Close:
    if not payload:
        return Close(no_code, "")
    code = int.from_bytes(payload[:2], "big")
    is_known = code in (1000, 1001, 1002, 1003) or 1007 <= code <= 1014 or 3000 <= code <= 4999
    if len(payload) == 1 or not is_known:
        raise SocketFailed(1002, "the code of a close is invalid")
    return Close(code, _decode(payload[2:]))


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise SocketFailed(1007, "a text is not UTF-8") from error
