"""Requests and answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import orjson

from stream_maxloss.errors import UsageError

__all__ = ["Answer", "ProblemError", "Receive", "Request", "Send", "problem", "read_bytes"]

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]

JSON = b"application/json"
OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


class ProblemError(Exception):
    """A request that cannot be answered.

    Parameters
    ----------
    status
        The status code.
    reason
        One line for the client.
    headers
        Headers of the answer.

    """

    def __init__(self, status: int, reason: str, headers: Headers = ()) -> None:
        super().__init__(reason)
        self.status = status
        self.headers = headers


@dataclass
class Request:
    """One request.

    Parameters
    ----------
    scope
        As ASGI gives it.
    body
        All of it.
    words
        Parts of the path that stand for something.

    """

    scope: dict[str, Any]
    body: bytes = b""
    words: dict[str, str] = field(default_factory=dict)

    def header(self, name: bytes) -> str:
        """Return the value of a header, its name in lower case; empty where it is not there."""
        return header_of(self.scope, name)

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """Return a whole number of the query."""
        text = self.query(name)
        if text is None:
            return default
        if not text.isdecimal() or not low <= int(text[:10]) <= high:
            raise UsageError(f"{name} must be a whole number from {low} to {high}, got {text[:50]!r}")
        return int(text)

    def query(self, name: str) -> str | None:
        """Return a value of the query, or None."""
        text = self.scope["query_string"].decode("latin-1")
        try:
            values = parse_qs(text, keep_blank_values=True, max_num_fields=20)
        except ValueError as error:
            raise UsageError(f"the query must have at most 20 fields, got {text.count('&') + 1}") from error
        return values[name][-1] if name in values else None


@dataclass
class Answer:
    """What goes back.

    Parameters
    ----------
    body
        All of it; None where it comes by and by.
    status, kind, headers
        Status code, `Content-Type` and further headers.
    stream
        Gives the body by and by.

    """

    body: bytes | None
    status: int = 200
    kind: bytes = JSON
    headers: Headers = ()
    stream: AsyncIterator[bytes] | None = None

    @classmethod
    def json(cls, value: Any, status: int = 200, headers: Headers = ()) -> Answer:
        """Return an answer in JSON."""
        return cls(orjson.dumps(value, option=OPTIONS, default=str), status, JSON, headers)

    async def send(self, send: Send, head_only: bool = False) -> None:
        """Send it."""
        headers = [(b"content-type", self.kind), *self.headers]
        if self.body is not None:
            headers.append((b"content-length", str(len(self.body)).encode()))
            await send({"type": "http.response.start", "status": self.status, "headers": headers})
            await send({"type": "http.response.body", "body": b"" if head_only else self.body})
            return
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        if self.stream is not None and not head_only:
            async for part in self.stream:
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def problem(status: int, reason: str, headers: Headers = ()) -> Answer:
    """Return the answer to a request that went wrong."""
    return Answer.json({"error": reason}, status, headers)


def header_of(scope: dict[str, Any], name: bytes) -> str:
    """Return the value of a header; empty where it is not there."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value.decode("latin-1"))
    return ""


async def read_bytes(scope: dict[str, Any], receive: Receive, limit: int) -> bytes:
    """Return the body of a request; one that does not come in time is hung up on by its connection.

    Raises
    ------
    ProblemError
        413 if it is too long, 400 if the client went away.

    """
    claimed = header_of(scope, b"content-length")
    if claimed.isdecimal() and int(claimed[:20]) > limit:
        raise too_long(limit)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ProblemError(400, "the client went away")
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise too_long(limit)
        if not message.get("more_body"):
            return b"".join([*parts, part]) if parts else bytes(part)
        parts.append(part)


def too_long(limit: int) -> ProblemError:
    """Return the refusal of a body that is too long."""
    return ProblemError(413, f"the body must have at most {limit:,} bytes; send fewer rows at once")
