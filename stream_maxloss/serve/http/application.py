"""Routes, rights, limits: what happens to every request before and after its handler."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from stream_maxloss.errors import StreamMaxlossError, UsageError
from stream_maxloss.serve.http.exchange import (
    Answer,
    ProblemError,
    Receive,
    Request,
    Send,
    header_of,
    problem,
    read_bytes,
)
from stream_maxloss.serve.limits import Limits
from stream_maxloss.serve.tokens import Right, Tokens

__all__ = ["Application", "Route"]

logger = logging.getLogger("stream_maxloss.serve")

Handler = Callable[[Request], Awaitable[Answer]]


@dataclass(frozen=True)
class Route:
    """What answers a path.

    Parameters
    ----------
    method, path
        `/v2/models/{name}` stands for any name.
    handler
        Makes the answer.
    right
        What a client needs.
    summary
        One line for the OpenAPI document.

    """

    method: str
    path: str
    handler: Handler
    right: Right
    summary: str = ""


class Application:
    """An ASGI application over routes.

    Parameters
    ----------
    routes
        What answers what.
    tokens
        Who may do what.
    limits
        Bounds on requests.
    observe
        Called with path, status and seconds of each.
    hosts
        What the service may be called in the header `Host`; None for anything. Without tokens it keeps pages out whose
        name leads to this machine only by a trick (DNS rebinding).

    Examples
    --------
    >>> import asyncio
    >>> from stream_maxloss.serve.http.application import Application, Route
    >>> from stream_maxloss.serve.http.exchange import Answer
    >>> from stream_maxloss.serve.tokens import Right
    >>> async def hello(request):
    ...     return Answer.json({"hello": request.words["name"]})
    >>> application = Application([Route("GET", "/hello/{name}", hello, Right.READ)])
    >>> async def ask(path):
    ...     sent = []
    ...     scope = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": b""}
    ...     async def send(message):
    ...         sent.append(message)
    ...     await application(scope, None, send)
    ...     return sent[0]["status"], sent[1]["body"]
    >>> asyncio.run(ask("/hello/you")), asyncio.run(ask("/bye"))[0]
    ((200, b'{"hello":"you"}'), 404)

    """

    def __init__(
        self,
        routes: list[Route],
        tokens: Tokens | None = None,
        limits: Limits | None = None,
        observe: Callable[[str, int, float], None] = lambda path, status, seconds: None,
        hosts: frozenset[str] | None = None,
    ) -> None:
        self.routes = routes
        self.tokens = tokens or Tokens()
        self.limits = limits or Limits()
        self.observe = observe
        self.hosts = hosts
        self._exact = {(route.method, route.path): route for route in routes if "{" not in route.path}
        self._patterns = [(route, route.path.split("/")) for route in routes if "{" in route.path]

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        began = time.perf_counter()
        path = "other"
        try:
            route, words = self._find(scope)
            path = route.path
            self._require(route, scope)
            body = b""
            if scope["method"] == "POST":
                body = await read_bytes(scope, receive, self.limits.body_bytes)
            answer = await route.handler(Request(scope, body, words))
        except Exception as error:
            answer = self._explain(error)
        # A stream lasts as long as somebody looks: it is no slow answer.
        self.observe(path, answer.status, time.perf_counter() - began)
        await answer.send(send, head_only=scope["method"] == "HEAD")

    def _find(self, scope: dict[str, Any]) -> tuple[Route, dict[str, str]]:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        path = scope["path"]
        found = self._exact.get((method, path))
        if found is not None:
            return found, {}
        allowed = [known for known, exact in self._exact if exact == path]
        parts = path.split("/")
        for route, pattern in self._patterns:
            words = match(pattern, parts)
            if words is not None and route.method == method:
                return route, words
            if words is not None:
                allowed.append(route.method)
        if allowed:
            names = ", ".join(sorted(set(allowed)))
            raise ProblemError(405, f"{path[:100]} takes {names}, got {method}", ((b"allow", names.encode()),))
        raise ProblemError(404, f"there is no {path[:100]}; /openapi.json lists what there is")

    def _require(self, route: Route, scope: dict[str, Any]) -> None:
        if self.hosts is not None and host_of(scope) not in self.hosts:
            raise ProblemError(
                421, "this service is known by other names; ask it as localhost, or give it a token file"
            )
        if route.right == Right.LEARN and not is_same_origin(scope):
            raise ProblemError(
                403, "a page of another site must not teach; ask from a program, or from this service's page"
            )
        if route.right == Right.NONE or not self.tokens:
            return
        right = self.tokens.right_of(header_of(scope, b"authorization"))
        if right == Right.NONE:
            ask = ((b"www-authenticate", b'Bearer, Basic realm="maxloss"'),)
            raise ProblemError(401, "a token is needed: Authorization: Bearer TOKEN", ask)
        if right < route.right:
            raise ProblemError(403, "this token may read, and not teach")

    def _explain(self, error: Exception) -> Answer:
        from stream_maxloss.serve.keys import KeyReuseError
        from stream_maxloss.serve.unavailable import BusyError, StoppedError

        if isinstance(error, ProblemError):
            return problem(error.status, str(error), error.headers)
        if isinstance(error, BusyError):
            return problem(429, str(error), ((b"retry-after", b"1"),))
        if isinstance(error, StoppedError | asyncio.CancelledError):
            return problem(503, str(error), ((b"retry-after", b"5"),))
        if isinstance(error, KeyReuseError):
            return problem(422, str(error))
        if isinstance(error, UsageError):
            return problem(400, " ".join(str(error).split()))
        logger.error("a request failed", exc_info=error)
        name = "; see the service's log" if isinstance(error, StreamMaxlossError) else ""
        return problem(500, f"the service failed{name}")


def host_of(scope: dict[str, Any]) -> str:
    """Return the name that a client calls the service by, without a port."""
    name = header_of(scope, b"host").lower()
    return name.partition("]")[0].strip("[") if name.startswith("[") else name.partition(":")[0]


def is_same_origin(scope: dict[str, Any]) -> bool:
    """Return whether a request comes from a program, or in a browser from a page of this service."""
    origin = header_of(scope, b"origin")
    return not origin or origin.partition("//")[2] == header_of(scope, b"host")


def match(pattern: list[str], parts: list[str]) -> dict[str, str] | None:
    """Return what the parts of a path stand for, None if it is another path."""
    if len(pattern) != len(parts):
        return None
    words: dict[str, str] = {}
    for wanted, found in zip(pattern, parts, strict=True):
        if wanted.startswith("{"):
            words[wanted[1:-1]] = found
        elif wanted != found:
            return None
    return words
