from __future__ import annotations

import asyncio

import httpx
import pytest

from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Scaler
from stream_maxloss.run import Columns
from stream_maxloss.serve.http.answers import row_routes
from stream_maxloss.serve.http.application import Application
from stream_maxloss.serve.http.inference import inference_routes
from stream_maxloss.serve.http.looks import look_routes
from stream_maxloss.serve.http.page import page_routes
from stream_maxloss.serve.service import Service


def make_model():
    return Scaler() | FocusedClassifier(HingeOGD(), window=50, replays=2, seed=0)


@pytest.fixture
def served(tmp_path):
    """Gives a function that runs a coroutine of a client against a service in this process."""

    def run(ask, *, directory=None, model=None, tokens=None, columns=None, hosts=None, **options):
        async def main():
            where = tmp_path / "state" if directory is None else directory
            chosen = Columns("y", slice_by="kind") if columns is None else columns
            service = Service(where, make_model() if model is None else model, chosen, name="shop", **options)
            async with service.running():
                routes = [*row_routes(service), *inference_routes(service), *look_routes(service)]
                routes += page_routes(service.bulletin, lambda: False)
                observe = service.meters.answered
                service.application = Application(routes, tokens, service.limits, observe, hosts)
                transport = httpx.ASGITransport(service.application, raise_app_exceptions=False)
                async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                    while not service.learner.ready:
                        await asyncio.sleep(0.01)
                    client.service = service
                    return await ask(client)

        return asyncio.run(main())

    return run


def rows(count: int, first: int = 0) -> list[dict]:
    return [
        {
            "a": float((i * 7) % 11 - 5),
            "b": float(i % 3),
            "kind": "rare" if i % 5 == 0 else "usual",
            "y": (i * 7) % 11 > 5,
        }
        for i in range(first, first + count)
    ]


@pytest.fixture(name="rows")
def make_rows():
    return rows


async def wait_for(client, learned: int) -> int:
    """Waits until a service has learned so many rows."""
    for _ in range(3000):
        if client.service.learner.failure is not None:
            raise client.service.learner.failure
        if client.service.tail.session.learned >= learned:
            break
        await asyncio.sleep(0.01)
    return client.service.tail.session.learned
