"""What the service refuses: what it cannot understand, what is too much, and who has no right."""

from __future__ import annotations

import asyncio
import struct

import pyarrow as pa
import pytest

from stream_maxloss.serve.bodies import ARROW_TYPE
from stream_maxloss.serve.limits import Limits
from stream_maxloss.serve.tokens import Right, Tokens

LINES = {"Content-Type": "application/x-ndjson"}


@pytest.mark.parametrize(
    ("method", "path", "body", "kind", "status", "reason"),
    [
        ("POST", "/learn", b"{", "application/json", 400, "one JSON object|JSON"),
        ("POST", "/learn", b"[1", "application/json", 400, "JSON"),
        ("POST", "/learn", b"{}", "text/plain", 415, "Content-Type"),
        ("POST", "/learn", b"{}", "", 415, "Content-Type"),
        ("POST", "/learn", b"x", ARROW_TYPE, 400, "Arrow IPC stream"),
        ("POST", "/learn", b'{"a": 1}', "application/json", 400, "target must name a column, got 'y'"),
        ("POST", "/learn", b'{"y": true, "kind": "u"}', "application/json", 400, "must have features"),
        ("POST", "/learn", b'{"y": "spam", "a": 1, "kind": "u"}', "application/json", 400, "true/false, 0/1 or -1/1"),
        ("GET", "/learn", b"", "", 405, "takes POST"),
        ("GET", "/nowhere", b"", "", 404, "there is no /nowhere"),
        ("GET", "/hard?k=0", b"", "", 400, "k must be a whole number"),
        ("GET", "/hard?" + "a=1&" * 30, b"", "", 400, "at most 20 fields"),
        ("GET", "/experts", b"", "", 409, "must be auto"),
        ("GET", "/explain", b"", "", 400, "must be given a row"),
        ("GET", "/v2/models/other", b"", "", 404, "is called 'shop'"),
        ("POST", "/v2/models/shop/infer", b"[]", "application/json", 400, "an object with inputs"),
        ("POST", "/predict", b"[" * 100_000, "application/json", 400, "nested at most 64"),
    ],
)
def test_what_cannot_be_understood_is_told_in_one_line(served, method, path, body, kind, status, reason):
    async def ask(client):
        headers = {"Content-Type": kind} if kind else {}
        return await client.request(method, path, content=body, headers=headers)

    answer = served(ask)
    assert answer.status_code == status, answer.text
    if status != 404 or path.startswith("/v2"):
        import re

        assert re.search(reason, answer.json()["error"]), answer.text
    assert "Traceback" not in answer.text


def test_too_much_is_refused(served, rows):
    limits = Limits(body_bytes=2000, body_rows=10, queue_rows=12)

    async def ask(client):
        await client.post("/learn", json=rows(1))
        long = await client.post("/learn", json=rows(100))
        many = await client.post("/learn", content=b"{}\n" * 11, headers=LINES)
        # Nobody learns while the loop is not let run: all of these come at once.
        busy = await asyncio.gather(*(client.post("/learn", json=rows(5)) for _ in range(8)))
        return long, many, busy

    long, many, busy = served(ask, limits=limits)
    assert (long.status_code, many.status_code) == (413, 413)
    statuses = [answer.status_code for answer in busy]
    assert set(statuses) == {200, 429}
    assert next(answer for answer in busy if answer.status_code == 429).headers["retry-after"] == "1"


def test_a_log_that_cannot_be_written_is_503_and_nothing_is_learned(served, rows, monkeypatch):
    async def ask(client):
        await client.post("/learn", json=rows(1))
        journal = client.service.log.journal

        def full(records):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(journal, "append", full)
        failed = await client.post("/learn", json=rows(2))
        monkeypatch.undo()
        after = await client.post("/learn", json=rows(3))
        return failed, after, client.service.tail.session.learned

    failed, after, learned = served(ask)
    assert failed.status_code == 503
    assert after.json()["sequence"] == 2
    assert learned == 4


def test_without_a_token_nothing_is_answered_but_health(served, rows):
    tokens = Tokens({"r" * 16: Right.READ, "l" * 16: Right.LEARN})
    reader, teacher = ({"Authorization": f"Bearer {letter * 16}"} for letter in "rl")

    async def ask(client):
        routes = client.service.application.routes
        bare = {}
        for route in routes:
            answer = await client.request(route.method, route.path.replace("{name}", "shop"))
            bare[route.path] = answer.status_code
        statuses = [
            (await client.post("/learn", json=rows(1), headers=reader)).status_code,
            (await client.post("/learn", json=rows(1), headers=teacher)).status_code,
            (await client.post("/predict", json=rows(1)[0], headers=reader)).status_code,
            (await client.get("/", auth=("me", "r" * 16))).status_code,
            (await client.get("/", auth=("me", "wrong"))).status_code,
        ]
        return bare, statuses

    bare, statuses = served(ask, tokens=tokens)
    assert {path for path, status in bare.items() if status != 401} == {"/v2/health/live", "/v2/health/ready"}
    assert statuses == [403, 200, 200, 200, 401]


def test_another_name_for_this_machine_is_misdirected(served):
    async def ask(client):
        return await client.get("/schema", headers={"Host": "evil.example"}), await client.get("/schema")

    evil, good = served(ask, hosts=frozenset({"localhost"}))
    assert (evil.status_code, good.status_code) == (421, 200)


def test_a_page_of_another_site_does_not_teach(served, rows):
    async def ask(client):
        origins = ["https://evil.example", "null", "http://localhost:81", "http://localhost"]
        answers = [await client.post("/learn", json=rows(1), headers={"Origin": origin}) for origin in origins]
        return [answer.status_code for answer in answers]

    assert served(ask) == [403, 403, 403, 200]


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_arrow_buffers_that_would_fill_the_memory_are_refused_before_they_are_unpacked(served, rows, codec):
    records = pa.RecordBatch.from_pylist(rows(1000))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, records.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_batch(records)
    good = bytes(sink.getvalue())
    size = struct.pack("<q", 8000)
    assert good.count(size) >= 2  # the columns a and b
    lying = good.replace(size, struct.pack("<q", 1 << 40))
    headers = {"Content-Type": ARROW_TYPE}

    async def ask(client):
        await client.post("/learn", json=rows(1))
        return [await client.post("/learn", content=body, headers=headers) for body in (good, lying, good[:200])]

    taken, refused, cut = served(ask)
    assert (taken.status_code, taken.json()["learned"]) == (200, 1000)
    assert (refused.status_code, cut.status_code) == (400, 400)
    assert "when it is unpacked" in refused.json()["error"]


def nested(depth: int, kind: type) -> object:
    """Return a number within so many objects or lists."""
    value: object = 1.0
    for _ in range(depth):
        value = {"a": value} if kind is dict else [value]
    return {"z": value}


@pytest.mark.parametrize("kind", [dict, list])
@pytest.mark.parametrize("depth", [1, 3, 20, 40, 60])
@pytest.mark.parametrize("learned", [0, 50])
def test_a_row_that_is_nested_is_explained_or_refused(served, rows, depth, kind, learned):
    async def ask(client):
        if learned:
            await client.post("/learn", json=rows(learned))
        return await client.post("/explain", json=nested(depth, kind))

    assert served(ask).status_code in (200, 400, 409)
