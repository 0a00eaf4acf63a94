"""Requests that only look: hard rows, slices, experts, columns, meters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_maxloss.serve.http.application import Route
from stream_maxloss.serve.http.exchange import Answer, ProblemError, Request
from stream_maxloss.serve.http.openapi import make_document
from stream_maxloss.serve.snapshot import describe_experts, describe_hard, describe_slices, find_in
from stream_maxloss.serve.tokens import Right

if TYPE_CHECKING:
    from stream_maxloss.serve.service import Service

__all__ = ["look_routes"]


class Looks:
    """Handlers that change nothing.

    Parameters
    ----------
    service
        What is looked at.

    """

    def __init__(self, service: Service) -> None:
        self.service = service

    async def hard(self, request: Request) -> Answer:
        """Return the rows that the model keeps failing on."""
        tail, count = self.service.tail, request.number("k", 10, 1, 1000)
        found = describe_hard(tail.model, count, tail.session.learned, find_in(tail.session))
        if found is None:
            raise ProblemError(409, "the model must keep rows to tell its hardest ones; use --model auto or HingeOGD")
        return Answer.json({"rows": found})

    async def slices(self, request: Request) -> Answer:
        """Return the scores by slice, the worst one first."""
        found = describe_slices(self.service.tail.session.board.slices())
        if found is None:
            raise ProblemError(409, "slices must be asked for; start the service with --slice-by COLUMN")
        return Answer.json(found)

    async def experts(self, request: Request) -> Answer:
        """Return what each expert weighs."""
        found = describe_experts(self.service.tail.model)
        if found is None:
            raise ProblemError(409, "the model must be auto to have experts; use --model auto")
        return Answer.json({"experts": found})

    async def schema(self, request: Request) -> Answer:
        """Return the columns and what each of them is."""
        form = self.service.form
        columns, schema = form.columns, form.schema
        roles = {columns.target: "target", columns.weight: "weight", columns.slice_by: "slice"}
        roles |= {self.service.identity: "id"}
        fields = [
            {
                "name": field.name,
                "type": str(field.type),
                "role": roles.get(field.name, "feature" if field.name in form.features else "ignored"),
            }
            for field in (schema if schema is not None else [])
        ]
        return Answer.json({"known": schema is not None, "target": columns.target, "columns": fields})

    async def metrics(self, request: Request) -> Answer:
        """Return what Prometheus scrapes."""
        self.service.meters.refresh(self.service)
        return Answer(self.service.meters.text(), kind=b"text/plain; version=0.0.4; charset=utf-8")


def look_routes(service: Service) -> list[Route]:
    """Return the routes that look."""
    looks = Looks(service)
    routes = [
        Route("GET", "/hard", looks.hard, Right.READ, "The rows that the model keeps failing on."),
        Route("GET", "/slices", looks.slices, Right.READ, "Scores by slice, the worst one first."),
        Route("GET", "/experts", looks.experts, Right.READ, "What the experts of auto weigh."),
        Route("GET", "/schema", looks.schema, Right.READ, "The columns and what each of them is."),
        Route("GET", "/metrics", looks.metrics, Right.READ, "Meters for Prometheus."),
    ]

    async def openapi(request: Request) -> Answer:
        return Answer.json(make_document(service.application.routes))

    routes.append(Route("GET", "/openapi.json", openapi, Right.READ, "This document."))
    return routes
