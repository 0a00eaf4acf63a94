"""What both clients send, and what they make of answers."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from stream_maxloss.errors import MissingExtraError, StreamMaxlossError

__all__ = ["PAUSES", "RETRIED", "Asking", "Call", "ServiceError", "connection", "read_answer"]

ARROW_TYPE = "application/vnd.apache.arrow.stream"
RETRIED = (429, 503)
PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)
"""Seconds before each further try."""


class ServiceError(StreamMaxlossError):
    """A service answered with an error.

    Parameters
    ----------
    status
        The status code.
    reason
        What the service said.
    answer
        The whole answer, with `refused` rows where there are such.

    """

    def __init__(self, status: int, reason: str, answer: Any = None) -> None:
        super().__init__(f"{status}: {reason}")
        self.status = status
        self.answer = answer


@dataclass(frozen=True)
class Call:
    """One request."""

    method: str
    path: str
    content: bytes | None = None
    headers: Mapping[str, str] | None = None


class Asking:
    """What one can ask of a service; a client adds how a call is sent. The asynchronous one returns awaitables.

    Requests to learn carry a key, and are sent again when the service is busy or the connection breaks: the rows are
    learned once all the same.
    """

    def _send(self, call: Call) -> Any:
        raise NotImplementedError

    def predict(self, rows: Any) -> Any:
        """Return the answer to one row (a dict), to many (`predictions` and `refused`), or a table for Arrow."""
        return self._send(predict_call(rows))

    def learn(self, rows: Any, key: str | None = None) -> Any:
        """Learn rows with their labels; return `sequence`, `rows`, `learned` and `refused`."""
        return self._send(learn_call(rows, key))

    def label(self, labels: Any, key: str | None = None) -> Any:
        """Learn rows that were predicted before: objects with the id and the target."""
        return self._send(label_call(labels, key))

    def look(self, what: str) -> Any:
        """Return `hard`, `slices`, `experts`, `schema` or `state`."""
        return self._send(Call("GET", f"/{what}"))


def predict_call(rows: Any) -> Call:
    """Return the request for predictions."""
    content, kind = body_of(rows)
    headers = {"Content-Type": kind}
    if kind == ARROW_TYPE:
        headers["Accept"] = ARROW_TYPE
    return Call("POST", "/predict", content, headers)


def learn_call(rows: Any, key: str | None) -> Call:
    """Return the request to learn, with a key, so that it may be sent again."""
    content, kind = body_of(rows)
    return Call("POST", "/learn", content, {"Content-Type": kind, "Idempotency-Key": key or uuid.uuid4().hex})


def label_call(labels: Any, key: str | None) -> Call:
    """Return the request to learn rows that were predicted before."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": key or uuid.uuid4().hex}
    return Call("POST", "/label", orjson.dumps(labels), headers)


def body_of(rows: Any) -> tuple[bytes, str]:
    """Return rows as the service takes them: a dict or a list of dicts as JSON, anything of Arrow as a stream."""
    if isinstance(rows, Mapping | Sequence):
        return orjson.dumps(rows, option=orjson.OPT_SERIALIZE_NUMPY), "application/json"
    import pyarrow as pa

    table = pa.table(rows)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes(), ARROW_TYPE


def read_answer(status: int, kind: str, content: bytes) -> Any:
    """Return what a service answered.

    Raises
    ------
    ServiceError
        If it is an error.

    """
    if kind.startswith(ARROW_TYPE) and status < 300:
        import pyarrow as pa

        return pa.ipc.open_stream(content).read_all()
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError:
        found = {"error": content[:200].decode("utf-8", "replace")}
    if status >= 300:
        refused = found.get("refused") if isinstance(found, dict) else None
        reason = refused[0]["reason"] if refused else found.get("error", "no reason given")
        raise ServiceError(status, str(reason), found)
    return found


def connection(transport: str, url: str, token: str | None, timeout: float) -> dict[str, Any]:
    """Return the settings of httpx; `unix:/run/maxloss.sock` is a socket, reached by a transport of this name.

    Raises
    ------
    MissingExtraError
        If httpx is not installed.

    """
    try:
        import httpx
    except ImportError as error:
        raise MissingExtraError("the client", "serve") from error
    settings: dict[str, Any] = {"base_url": url, "timeout": timeout}
    if url.startswith("unix:"):
        settings |= {"base_url": "http://localhost", "transport": getattr(httpx, transport)(uds=url[5:])}
    if token is not None:
        settings["headers"] = {"Authorization": f"Bearer {token}"}
    return settings
