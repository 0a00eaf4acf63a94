"""Predict, learn, label: the requests that rows come with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from stream_maxloss.errors import UsageError
from stream_maxloss.serve.bodies import ARROW_TYPE, Body, arrow_bytes, read_body
from stream_maxloss.serve.http.application import Route
from stream_maxloss.serve.http.exchange import Answer, ProblemError, Request
from stream_maxloss.serve.keys import require_key
from stream_maxloss.serve.log import Kind
from stream_maxloss.serve.tokens import Right

if TYPE_CHECKING:
    import pyarrow as pa

    from stream_maxloss.serve.service import Service

__all__ = ["row_routes"]


class RowRequests:
    """Handlers of requests with rows.

    Parameters
    ----------
    service
        What answers them.

    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self._mark = None if service.identity is None else orjson.dumps(service.identity)

    async def predict(self, request: Request) -> Answer:
        """Return the prediction for each row."""
        service, data = self.service, request.body
        # Most requests by far are one JSON object, so they take the shortest way.
        if data[:1] == b"{" and is_json(request) and not self._may_wait(data):
            answer = service.predictor.answer(data)
            if answer is not None:
                return Answer(answer)
        body = self._read(request)
        rows, bad = service.predictor.many(body)
        answers = as_objects(rows)
        self._keep(body, bad, answers)
        status = 422 if bad and not rows.num_rows else 200
        if ARROW_TYPE in request.header(b"accept"):
            return Answer(arrow_bytes(rows), status, ARROW_TYPE.encode())
        if is_single(body):
            return Answer.json(answers[0] if answers else {"error": next(iter(bad.values()))}, status)
        return Answer.json({"predictions": answers, "refused": reasons(bad)}, status)

    def _may_wait(self, data: bytes) -> bool:
        """Return whether a row may have an id; an escaped one counts as one."""
        return self._mark is not None and (self._mark in data or b"\\" in data)

    def _keep(self, body: Body, bad: dict[int, str], answers: list[dict[str, Any]]) -> None:
        """Let rows with an id wait for their labels, with what was said of them."""
        waiting, identity = self.service.waiting, self.service.identity
        if waiting is None or identity is None:
            return
        rows = body.records.to_pylist() if body.records is not None else None
        if rows is None:
            rows = [orjson.loads(payload) if row not in bad else {} for row, payload in enumerate(body.payloads)]
        kept = [(rows[said["row"]], said) for said in answers if rows[said["row"]].get(identity) is not None]
        for row, _ in kept:
            waiting.require_id(row[identity])
        if kept:
            self.service.learner.keep([row for row, _ in kept], [said for _, said in kept])

    async def learn(self, request: Request) -> Answer:
        """Learn rows with their labels; answer when they are on the disk and in the model."""
        body = self._read(request)
        found = await self.service.learner.learn(body, self._key(request))
        return outcome(found)

    async def label(self, request: Request) -> Answer:
        """Learn rows that were predicted before, by their ids."""
        waiting = self.service.waiting
        if waiting is None:
            raise ProblemError(409, "labels need ids; start the service with --id COLUMN")
        body = self._read(request)
        if body.records is not None:
            values = body.records.to_pylist()
        else:
            try:
                values = [orjson.loads(payload) for payload in body.payloads]
            except orjson.JSONDecodeError as error:
                raise UsageError(f"a label must be a JSON object, got something else: {error}") from error
        labels = [waiting.require_label(value) for value in values]
        return outcome(await self.service.learner.label(labels, self._key(request)))

    async def explain(self, request: Request) -> Answer:
        """Explain a prediction."""
        text = request.body or (request.query("row") or "").encode()
        if not text:
            raise UsageError("explain must be given a row: POST it, or GET /explain?row={...}")
        body = read_body(text, Kind.JSON)
        if body.rows != 1:
            raise UsageError(f"explain must be given one row, got {body.rows}")
        return Answer.json(self.service.predictor.explain(body, request.number("k", 20, 1, 1000)))

    def _read(self, request: Request) -> Body:
        try:
            body = read_body(request.body, request.header(b"content-type"))
        except UsageError as error:
            status = 415 if str(error).startswith("Content-Type") else 400
            raise ProblemError(status, " ".join(str(error).split())) from error
        if body.rows > self.service.limits.body_rows:
            limit = self.service.limits.body_rows
            raise ProblemError(
                413, f"a request must have at most {limit:,} rows, got {body.rows:,}; send fewer at once"
            )
        return body

    def _key(self, request: Request) -> str:
        key = request.header(b"idempotency-key")
        return require_key(key) if key else ""


def row_routes(service: Service) -> list[Route]:
    """Return the routes that rows are sent to."""
    rows = RowRequests(service)
    return [
        Route("POST", "/predict", rows.predict, Right.READ, "Predict one row or many, and learn nothing."),
        Route("POST", "/learn", rows.learn, Right.LEARN, "Learn rows with their labels, exactly once."),
        Route("POST", "/label", rows.label, Right.LEARN, "Learn rows that were predicted before, by their ids."),
        Route("GET", "/explain", rows.explain, Right.READ, "What the prediction for a row is made of."),
        Route("POST", "/explain", rows.explain, Right.READ, "What the prediction for a row is made of."),
    ]


def is_json(request: Request) -> bool:
    """Return whether a body is plain JSON."""
    return request.header(b"content-type").startswith("application/json")


def is_single(body: Body) -> bool:
    """Return whether a body is one object rather than a list of them."""
    return body.kind == Kind.JSON and body.data.lstrip()[:1] != b"["


def as_objects(rows: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return predictions as JSON has them."""
    found = rows.to_pylist()
    for row in found:
        if isinstance(row.get("probabilities"), str):
            row["probabilities"] = orjson.Fragment(row["probabilities"])
    return found


def reasons(bad: dict[int, str]) -> list[dict[str, Any]]:
    """Return what is wrong with which row."""
    return [{"row": row, "reason": reason} for row, reason in sorted(bad.items())[:1000]]


def outcome(found: dict[str, Any]) -> Answer:
    """Return what became of rows; if none was learned, that is the client's error."""
    return Answer.json(found, 422 if found["rows"] and not found["learned"] else 200)
