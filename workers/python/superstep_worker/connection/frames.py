"""Frames on a byte stream: a JSON header line and the payload lines that it announces. Payload lines are never parsed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Header = Mapping[str, Any]


@dataclass(frozen=True)
class Frame:
    header: Header
    #: The payload lines without their line ends.
    payload: Sequence[bytes]

    def line(self, name: str) -> bytes:
        """The payload line of this name; empty when the frame has none."""
        names: Sequence[str] = self.header.get("payload", ())
        return self.payload[names.index(name)] if name in names else b""


class ProtocolError(Exception):
    """The other side violated the protocol."""


class FrameReader:
    """Splits chunks, which may end anywhere, into frames."""

    def __init__(self) -> None:
        # The start of an incomplete line, in pieces; joined once, so that a long line is not copied for each chunk.
        self._partial: list[bytes] = []
        self._header: Header | None = None
        self._lines: list[bytes] = []

    def push(self, chunk: bytes) -> Iterator[Frame]:
        """:raises ProtocolError: a header is not a JSON object"""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line = b"".join((*self._partial, end))
            self._partial = []
            frame = self._line(line)
            if frame is not None:
                yield frame
        if rest:
            self._partial.append(rest)

    def _line(self, line: bytes) -> Frame | None:
        if self._header is None:
            self._header = _parse_header(line)
        else:
            self._lines.append(line)
        names = self._header.get("payload")
        if isinstance(names, list) and len(self._lines) < len(names):
            return None
        frame = Frame(self._header, self._lines)
        self._header, self._lines = None, []
        return frame


def _parse_header(line: bytes) -> Header:
    try:
        header = json.loads(line)
    except ValueError as error:
        raise ProtocolError(f"a frame's header is not JSON: {line[:200]!r}") from error
    if not isinstance(header, dict):
        raise ProtocolError(f"a frame's header is not an object: {line[:200]!r}")
    return header


# A graph's stream may produce any number of items at once. Writing this early makes `room` block before all of them
# are queued here.
_most_unwritten = 256 * 1024


class FrameWriter:
    """Writes frames to a transport, all of one turn of the event loop in one write, and blocks in `room` while it is full."""

    def __init__(self, transport: asyncio.WriteTransport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._text: list[str] = []
        # Characters of payload in `_text`.
        self._unwritten = 0
        self._has_room = asyncio.Event()
        self._has_room.set()

    def send(self, header: Header, payload: Sequence[str] = ()) -> None:
        """Queues a frame; order is kept. Only called on the event loop's thread."""
        if not self._text:
            self._loop.call_soon(self.flush)
        self._text.append(json.dumps(header, separators=(",", ":"), ensure_ascii=False))
        self._text.extend(payload)
        self._unwritten += sum(map(len, payload))
        if self._unwritten > _most_unwritten:
            self.flush()

    def flush(self) -> None:
        if not self._text:
            return
        self._text.append("")
        # Half of a surrogate pair cannot be encoded.
        data = "\n".join(self._text).encode("utf-8", "replace")
        self._text = []
        self._unwritten = 0
        if not self._transport.is_closing():
            self._transport.write(data)

    @property
    def is_full(self) -> bool:
        return not self._has_room.is_set()

    async def room(self) -> None:
        """Returns when the transport accepts more."""
        await self._has_room.wait()

    def pause(self) -> None:
        self._has_room.clear()

    def resume(self) -> None:
        self._has_room.set()
