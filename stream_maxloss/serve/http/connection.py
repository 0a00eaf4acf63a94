"""A connection that may neither dawdle nor send a head without end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["TimedConnection", "close_late"]

HEAD_BYTES = 64 << 10
LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class TimedConnection(HttpToolsProtocol):
    """uvicorn's connection, which by itself waits for a request for ever and keeps a head of any length.

    It only takes note of when a request began to come: one look at all connections from time to time costs less than a
    timer for each request.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.waits_since: float | None = self.loop.time()
        self._head_bytes = 0
        self._in_head = True

    def data_received(self, data: bytes) -> None:
        """Take in bytes, unless there are too many before the end of the head."""
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self.refuse(LONG)

    def on_message_begin(self) -> None:
        """Take note that a request begins."""
        super().on_message_begin()
        self.waits_since = self.loop.time()
        self._in_head = True

    def on_headers_complete(self) -> None:
        """Take note that its head has come."""
        self._in_head = False
        self._head_bytes = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Take note that all of it has come."""
        super().on_message_complete()
        self.waits_since = None

    def refuse(self, answer: bytes) -> None:
        """Answer, unless an answer has begun, and hang up."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(answer)
        self.transport.close()


def close_late(connections: Iterable[Any], now: float, seconds: float) -> None:
    """Hang up on those whose request has been coming for longer than so many seconds."""
    for connection in list(connections):
        since = getattr(connection, "waits_since", None)
        if since is not None and now - since > seconds:
            connection.refuse(LATE)
