"""The OpenAPI document, from the routes themselves."""

from __future__ import annotations

from typing import Any

import stream_maxloss
from stream_maxloss.serve.bodies import ARROW_TYPE
from stream_maxloss.serve.http.application import Route
from stream_maxloss.serve.tokens import Right

__all__ = ["make_document"]

ROW = {"type": "object", "additionalProperties": {"type": ["number", "boolean", "string", "null"]}}
ROWS = {"oneOf": [ROW, {"type": "array", "items": ROW}]}
BODY = {
    "required": True,
    "content": {
        "application/json": {"schema": ROWS},
        "application/x-ndjson": {"schema": {"type": "string"}},
        ARROW_TYPE: {"schema": {"type": "string", "format": "binary"}},
    },
}
TENSOR = {
    "type": "object",
    "required": ["name", "shape", "datatype", "data"],
    "properties": {
        "name": {"type": "string"},
        "shape": {"type": "array", "items": {"type": "integer"}},
        "datatype": {"type": "string"},
        "data": {"type": "array"},
    },
}
INFER = {"type": "object", "required": ["inputs"], "properties": {"inputs": {"type": "array", "items": TENSOR}}}
STATUSES = {
    "200": "Done.",
    "400": "The request cannot be understood; `error` says why.",
    "401": "A token is needed.",
    "403": "The token may read, and not teach.",
    "408": "The body did not come in time.",
    "409": "The model or the service has no such thing.",
    "413": "Too many bytes or rows.",
    "415": "A content type that is not known.",
    "422": "No row was good; `refused` has the reason of each.",
    "429": "Too much waits to be learned; see Retry-After.",
    "503": "The service is starting, stopping or unable to write.",
}
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "maxLength": 200},
    "description": "A retry with the same key and body is learned once and answered alike.",
}


def make_document(routes: list[Route]) -> dict[str, Any]:
    """Return the document.

    Examples
    --------
    >>> from stream_maxloss.serve.http.application import Route
    >>> from stream_maxloss.serve.http.openapi import make_document
    >>> from stream_maxloss.serve.tokens import Right
    >>> document = make_document([Route("GET", "/hard", None, Right.READ, "The rows.")])
    >>> document["openapi"], document["paths"]["/hard"]["get"]["summary"]
    ('3.1.0', 'The rows.')

    """
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if route.summary:
            paths.setdefault(route.path, {})[route.method.lower()] = operation_of(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "maxloss", "version": stream_maxloss.__version__},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def operation_of(route: Route) -> dict[str, Any]:
    """Return what the document says of one route."""
    words = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    parameters: list[dict[str, Any]] = [
        {"name": word, "in": "path", "required": True, "schema": {"type": "string"}} for word in words
    ]
    if route.path in ("/hard", "/explain"):
        whole = {"type": "integer", "minimum": 1, "maximum": 1000}
        parameters.append({"name": "k", "in": "query", "required": False, "schema": whole})
    if route.right == Right.LEARN:
        parameters.append(KEY)
    found: dict[str, Any] = {
        "summary": route.summary,
        "parameters": parameters,
        "security": [] if route.right == Right.NONE else [{"token": []}],
        "responses": {status: {"description": text} for status, text in STATUSES.items()},
    }
    if route.method == "POST":
        infer = {"required": True, "content": {"application/json": {"schema": INFER}}}
        found["requestBody"] = infer if route.path.endswith("/infer") else BODY
    elif route.path == "/explain":
        parameters.append({"name": "row", "in": "query", "required": True, "schema": {"type": "string"}})
    return found
