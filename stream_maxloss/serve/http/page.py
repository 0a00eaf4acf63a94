"""The live page: its files, the state of the run, and its changes as they happen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from importlib import resources
from typing import Any

import orjson

from stream_maxloss.serve.bulletin import Bulletin
from stream_maxloss.serve.http.application import Route
from stream_maxloss.serve.http.exchange import OPTIONS, Answer, ProblemError, Request
from stream_maxloss.serve.tokens import Right

__all__ = ["page_routes"]

KINDS = {
    "index.html": b"text/html; charset=utf-8",
    "page.css": b"text/css; charset=utf-8",
    "page.js": b"text/javascript; charset=utf-8",
    "charts.js": b"text/javascript; charset=utf-8",
    "uPlot.min.css": b"text/css; charset=utf-8",
    "uPlot.iife.min.js": b"text/javascript; charset=utf-8",
    "uPlot.LICENSE": b"text/plain; charset=utf-8",
}
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
)
POLL_SECONDS = 0.2
SILENCE_SECONDS = 10.0


def page_routes(bulletin: Bulletin, stopping: Callable[[], bool]) -> list[Route]:
    """Return the routes of the page.

    Parameters
    ----------
    bulletin
        What it shows.
    stopping
        Tells that streams must end.

    """

    async def page(request: Request) -> Answer:
        return page_file("index.html")

    async def file(request: Request) -> Answer:
        return page_file(request.words["file"])

    async def state(request: Request) -> Answer:
        return Answer.json(bulletin.snapshot, headers=((b"cache-control", b"no-store"),))

    async def events(request: Request) -> Answer:
        headers = ((b"cache-control", b"no-store"), (b"x-accel-buffering", b"no"))
        return Answer(None, kind=b"text/event-stream", headers=headers, stream=follow(bulletin, stopping))

    return [
        Route("GET", "/", page, Right.READ),
        Route("GET", "/page/{file}", file, Right.READ),
        Route("GET", "/state", state, Right.READ, "All that the page shows."),
        Route("GET", "/events", events, Right.READ),
    ]


def page_file(name: str) -> Answer:
    """Return one of the page's files."""
    if name not in KINDS:
        raise ProblemError(404, f"there is no {name[:100]}")
    data = resources.files("stream_maxloss.serve").joinpath("page", name).read_bytes()
    return Answer(data, kind=KINDS[name], headers=HEADERS)


async def follow(bulletin: Bulletin, stopping: Callable[[], bool]) -> AsyncIterator[bytes]:
    """Yield the whole state, then what is new whenever something is, as server-sent events."""
    yield b"retry: 1000\n\n"
    number, added, spoke = 0, 0, time.monotonic()
    while not stopping():
        if bulletin.number > number:
            snapshot, number = bulletin.snapshot, bulletin.number
            yield event("state" if added == 0 else "news", news(snapshot, added))
            added, spoke = snapshot.get("added", 0), time.monotonic()
        elif time.monotonic() - spoke > SILENCE_SECONDS:
            # Something to send, so that a connection whose other end is gone is noticed.
            yield b": still here\n\n"
            spoke = time.monotonic()
        await asyncio.sleep(POLL_SECONDS)


def news(snapshot: dict[str, Any], added: int) -> dict[str, Any]:
    """Return a snapshot with only the points that came after so many.

    Examples
    --------
    >>> from stream_maxloss.serve.http.page import news
    >>> news({"points": ["b", "c", "d"], "added": 4}, added=3)
    {'points': ['d'], 'added': 4}

    """
    if added == 0:
        return snapshot
    fresh = max(0, snapshot.get("added", 0) - added)
    points = snapshot.get("points", [])
    return {**snapshot, "points": points[len(points) - min(fresh, len(points)) :]}


def event(name: str, value: Any) -> bytes:
    """Return one event."""
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(value, option=OPTIONS, default=str) + b"\n\n"
