"""Requests of all kinds to a service: `python -m tests.torture.serve_fuzz 100000`."""

from __future__ import annotations

import asyncio
import logging
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import orjson
import pyarrow as pa

from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Scaler
from stream_maxloss.run import Columns
from stream_maxloss.serve.bodies import ARROW_TYPE, arrow_bytes
from stream_maxloss.serve.http.answers import row_routes
from stream_maxloss.serve.http.application import Application
from stream_maxloss.serve.http.inference import inference_routes
from stream_maxloss.serve.http.looks import look_routes
from stream_maxloss.serve.http.page import page_routes
from stream_maxloss.serve.service import Service

PATHS = "/predict /learn /label /explain /hard /slices /schema /experts /state /metrics / /v2 /v2/health/ready"
PATHS += " /v2/models/shop /v2/models/shop/infer /v2/models/x/infer /v2/models/shop/ready /openapi.json"
PATHS += " /page/page.js /page/..%2fbodies.py /no"
KINDS = ["application/json", "application/x-ndjson", ARROW_TYPE, "text/plain", ""]
NAMES = ["a", "b", "y", "kind", "id", "", "é", "inputs", "data", "shape", "name", "datatype"]


class Sender:
    """Makes requests by chance, most of them nearly right."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def value(self, depth: int = 0) -> Any:
        chance = self.chance
        plain = [None, True, False, 0, -1, 1.5, 1e308, -1e-320, 2**63, 2**53 + 1, "", "x", "\U0001f600", "1e400", "NaN"]
        if depth > 3 or chance.random() < 0.7:
            return chance.choice(plain)
        if chance.random() < 0.5:
            return [self.value(depth + 1) for _ in range(chance.randrange(4))]
        return {chance.choice(NAMES): self.value(depth + 1) for _ in range(chance.randrange(4))}

    def row(self) -> dict[str, Any]:
        chance = self.chance
        found: dict[str, Any] = {
            "a": chance.gauss(0, 1),
            "b": chance.gauss(0, 1),
            "kind": "k",
            "y": chance.random() < 0.5,
        }
        found["id"] = chance.randrange(1000)
        for _ in range(chance.randrange(3)):
            found[chance.choice(NAMES)] = self.value()
        return found

    def body(self) -> bytes:
        chance = self.chance
        form = chance.randrange(6)
        if form == 0:
            data = chance.randbytes(chance.randrange(80))
        elif form == 1:
            data = orjson.dumps(self.value())
        elif form == 2:
            data = orjson.dumps(self.row())
        elif form == 3:
            data = b"\n".join(orjson.dumps(self.row()) for _ in range(3))
        elif form == 4:
            tensors = [{"name": n, "shape": [2], "datatype": "FP64", "data": [1, self.value()]} for n in ("a", "b")]
            data = orjson.dumps({"inputs": tensors})
        else:
            data = arrow_bytes(
                pa.RecordBatch.from_pydict({"a": [1.0, 2.0], "b": [0.5, None], "kind": ["k", "k"], "y": [True, False]})
            )
        if chance.random() < 0.3 and data:
            wrong = bytearray(data)
            for _ in range(chance.randrange(1, 6)):
                wrong[chance.randrange(len(wrong))] = chance.randrange(256)
            data = bytes(wrong[: chance.randrange(1, len(wrong) + 1)]) if chance.random() < 0.3 else bytes(wrong)
        return data

    def request(self) -> dict[str, Any]:
        chance = self.chance
        headers = {"Content-Type": kind} if (kind := chance.choice(KINDS)) else {}
        if chance.random() < 0.2:
            headers["Idempotency-Key"] = chance.choice(["one", "x" * 300, f"k{chance.randrange(50)}", "\x7f"])
        if chance.random() < 0.1:
            headers["Accept"] = ARROW_TYPE
        query = chance.choice(["", "", "", "?k=3", "?k=x", "?k=99999999999", "?row={}", "?row=%ff", "?" + "a=1&" * 30])
        path = chance.choice(PATHS.split()) + query
        return {
            "method": chance.choice(["POST"] * 4 + ["GET", "GET", "PUT", "HEAD", "DELETE"]),
            "url": path,
            "headers": headers,
            "content": self.body(),
        }


class Loud(logging.Handler):
    """Counts what is logged with a traceback."""

    tracebacks = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.tracebacks += record.exc_info is not None


async def fuzz(folder: Path, requests: int, seed: int) -> dict[str, Any]:
    """Send requests; return how often which status came, tracebacks, and memory after a quarter and at the end."""
    sender, statuses, loud = Sender(seed), Counter[int](), Loud()
    logging.getLogger("stream_maxloss").addHandler(loud)
    model = Scaler() | FocusedClassifier(HingeOGD(), window=200, replays=2, seed=0)
    service = Service(
        folder / "state", model, Columns("y", slice_by="kind"), name="shop", identity="id", max_waiting=500
    )
    memory: list[int] = []
    async with service.running():
        routes = [*row_routes(service), *inference_routes(service), *look_routes(service)]
        routes += page_routes(service.bulletin, lambda: False)
        service.application = Application(routes, None, service.limits, service.meters.answered)
        transport = httpx.ASGITransport(service.application, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            good = {"a": 1.0, "b": 2.0, "kind": "k", "y": True}
            await client.post("/learn", json=[good, {**good, "a": -1.0, "y": False}])
            for number in range(requests):
                asked = sender.request()
                answer = await client.request(**asked)
                statuses[answer.status_code] += 1
                if not 200 <= answer.status_code < 500 or "Traceback" in answer.text[:5000]:
                    raise AssertionError((asked, answer.status_code, answer.text[:500]))
                if number in (requests // 4, requests - 1):
                    memory.append(resident())
            assert service.learner.failure is None
            assert (await client.post("/predict", json=good)).status_code == 200
    return {"statuses": dict(statuses), "tracebacks": loud.tracebacks, "memory": memory}


def resident() -> int:
    """Return the bytes of memory that this process holds."""
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])


def main() -> None:
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory(prefix="serve-fuzz-") as folder:
        found = asyncio.run(fuzz(Path(folder), requests, seed=7))
    sys.stdout.write(f"{found}\n")
    sys.exit(1 if found["tracebacks"] else 0)


if __name__ == "__main__":
    main()
