"""The worker's end of the socket: frames in and out, and calls with their replies. It owns the pending calls; when the
socket closes they all fail, and `on_close` ends the process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .frames import Frame, FrameReader, FrameWriter, Header, ProtocolError
from .header_fields import Fields, calls, frames

OnFrame = Callable[[Frame], None]
#: Payload lines with their names, in order.
Lines = Sequence[tuple[str, str]]


class CallFailed(Exception):
    """The server rejected a call."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error.get("message")))
        #: The protocol's name of the error, such as `ClaimLost`.
        self.name = str(error.get("error"))


class Connection(asyncio.Protocol):
    def __init__(self, on_close: Callable[[str], None]) -> None:
        self._on_close = on_close
        self._on_frame: OnFrame = lambda frame: None
        self._reader = FrameReader()
        self._pending: dict[str, asyncio.Future[Frame]] = {}
        self._last_call = 0
        self._is_closed = False

    def listen(self, on_frame: OnFrame) -> None:
        """Sets the callback for frames that are not replies."""
        self._on_frame = on_frame

    def send(self, header: Header, payload: Sequence[str] = ()) -> None:
        self._writer.send(header, payload)

    def flush(self) -> None:
        self._writer.flush()

    @property
    def is_full(self) -> bool:
        return self._writer.is_full

    async def room(self) -> None:
        """Returns when the server reads again. Wait for it before producing more."""
        await self._writer.room()

    async def call(self, fields: Header, payload: Lines = ()) -> Frame:
        """Calls a method of the server.

        :raises CallFailed: the server answered with `failure`
        """
        if self._is_closed:
            raise CallFailed({"error": "ConnectionClosed", "message": "the connection is closed"})
        self._last_call += 1
        call_id = str(self._last_call)
        header = {"type": "call", "call_id": call_id, **fields}
        if payload:
            header["payload"] = [name for name, _ in payload]
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._pending[call_id] = answer
        self._writer.send(header, [line for _, line in payload])
        return await answer

    # Called by asyncio:

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._writer = FrameWriter(transport, asyncio.get_running_loop())

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._reader.push(data):
                self._receive(frame)
        except ProtocolError as error:
            self._close(str(error))

    def connection_lost(self, exc: Exception | None) -> None:
        self._close("the server closed the connection" if exc is None else str(exc))

    def pause_writing(self) -> None:
        self._writer.pause()

    def resume_writing(self) -> None:
        self._writer.resume()

    def _receive(self, frame: Frame) -> None:
        header = frame.header
        _check_header(header)
        if header["type"] not in ("reply", "failure"):
            self._on_frame(frame)
            return
        answer = self._pending.pop(header["call_id"], None)
        # The caller may have been cancelled meanwhile.
        if answer is None or answer.done():
            return
        if header["type"] == "reply":
            answer.set_result(frame)
        else:
            answer.set_exception(CallFailed(header["error"]))

    def _close(self, reason: str) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(CallFailed({"error": "ConnectionClosed", "message": reason}))
        self._pending.clear()
        self._transport.abort()
        self._writer.resume()
        self._on_close(reason)


def _check_header(header: Header) -> None:
    """:raises ProtocolError: the type is unknown, or a field is missing or invalid"""
    kind = header.get("type")
    fields = frames.get(str(kind))
    if fields is None:
        raise ProtocolError(f"cannot understand a frame of type {kind}")
    _check_fields(kind, header, fields)
    # The runner answers a call of an unknown method: that is not an error of the server.
    if kind == "call" and (fields := calls.get(header["method"])) is not None:
        _check_fields(kind, header, fields)


def _check_fields(kind: object, header: Header, fields: Fields) -> None:
    required, validators = fields
    wrong = [name for name in required if name not in header]
    # Unknown fields are ignored.
    wrong += [name for name, value in header.items() if name in validators and not validators[name](value)]
    if wrong:
        raise ProtocolError(f"a frame of type {kind} has no valid {', '.join(wrong)}")
