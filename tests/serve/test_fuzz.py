"""Whatever is sent, the answer is one for the client: 2xx or 4xx, without a traceback."""

from __future__ import annotations

import asyncio

import httpx
import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_maxloss.run import Columns
from stream_maxloss.serve.bodies import ARROW_TYPE

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "y", "kind", "id", "x"]), inner)
    ),
    max_leaves=12,
)
ROW = st.dictionaries(st.sampled_from(["a", "b", "y", "kind", "id"]), JSON, max_size=5)
TENSOR = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["a", "b", ""]),
        "shape": JSON,
        "datatype": st.sampled_from(["FP64", "BYTES", "X"]),
        "data": JSON,
    }
)
BODY = st.one_of(
    st.binary(max_size=60),
    JSON.map(
        lambda value: orjson.dumps(value, default=str, option=orjson.OPT_PASSTHROUGH_SUBCLASS) if fits(value) else b"0"
    ),
    st.lists(ROW, max_size=4).map(lambda value: orjson.dumps(value) if fits(value) else b"[]"),
    st.lists(TENSOR, max_size=2).map(lambda value: orjson.dumps({"inputs": value}) if fits(value) else b"{}"),
)
PATHS = (
    "/predict /learn /label /explain /hard /slices /schema /experts /v2 /v2/models/shop /v2/models/shop/infer /state"
)
PATHS += " /v2/models/x /metrics /openapi.json / /page/page.js /page/.. /nothing"
KINDS = ["application/json", "application/x-ndjson", ARROW_TYPE, "text/html", ""]


def fits(value) -> bool:
    """Whether orjson can write it: whole numbers of at most 64 bits."""
    try:
        orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):
        return False
    return True


REQUEST = st.tuples(
    st.sampled_from(["GET", "POST", "PUT", "HEAD"]),
    st.sampled_from(PATHS.split()),
    st.sampled_from(["", "?k=3", "?k=x", "?row={}", "?row=%ff"]),
    BODY,
    st.sampled_from(KINDS),
    st.sampled_from([{}, {"Idempotency-Key": "one"}, {"Idempotency-Key": "x" * 300}, {"Content-Length": "-1"}]),
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(requests=st.lists(REQUEST, min_size=1, max_size=6))
def check(ask, requests):
    for request in requests:
        ask(request)


def test_only_answers_for_the_client_and_no_traceback(served, rows, caplog):
    async def main(client):
        loop = asyncio.get_running_loop()
        assert (await client.post("/learn", json=[{**row, "id": 1} for row in rows(20)])).status_code == 200

        async def send(request):
            method, path, query, body, kind, headers = request
            headers = {**headers, **({"Content-Type": kind} if kind else {})}
            return await client.request(method, path + query, content=body, headers=headers)

        def ask(request):
            answer: httpx.Response = asyncio.run_coroutine_threadsafe(send(request), loop).result(60)
            assert 200 <= answer.status_code < 500, (request, answer.status_code, answer.text[:300])
            assert "Traceback" not in answer.text[:10_000]

        await asyncio.to_thread(check, ask)
        assert client.service.learner.failure is None
        assert (await client.post("/predict", json={"a": 1.0})).status_code == 200

    served(main, columns=Columns("y", slice_by="kind"), identity="id")
    assert [record for record in caplog.records if record.exc_info] == []
