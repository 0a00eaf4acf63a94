"""Learning and predicting over HTTP, in one process."""

from __future__ import annotations

import asyncio

import orjson
import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families
from river import base

from stream_maxloss.linear import HingeOGD
from stream_maxloss.run import Columns, Tail, load_run
from stream_maxloss.serve.bodies import ARROW_TYPE, arrow_bytes
from stream_maxloss.serve.learner import Learner
from stream_maxloss.serve.limits import Limits
from stream_maxloss_connectors.testing import MemorySource

from .conftest import make_model, wait_for

ARROW = {"Content-Type": ARROW_TYPE}
LINES = {"Content-Type": "application/x-ndjson"}


def test_rows_that_were_learned_are_predicted_as_by_a_model_that_learned_them_itself(served, rows):
    async def ask(client):
        learned = await client.post("/learn", json=rows(200))
        one = await client.post("/predict", json=rows(1, 300)[0])
        many = await client.post("/predict", json=rows(20, 300))
        return learned.json(), one.json(), many.json()

    learned, one, many = served(ask)
    assert (learned["rows"], learned["learned"], learned["refused"]) == (200, 200, [])
    twin = make_model()
    for row in rows(200):
        twin.learn_one({"a": row["a"], "b": row["b"]}, row["y"])
    wanted = [twin.predict_proba_one({"a": row["a"], "b": row["b"]})[True] for row in rows(20, 300)]
    assert [found["probability"] for found in many["predictions"]] == wanted
    assert one == {"prediction": wanted[0] >= 0.5, "probability": wanted[0]}


def test_json_lines_and_arrow_teach_the_same_as_json(served, rows, tmp_path):
    def learn(body, headers, name):
        async def ask(client):
            assert (await client.post("/learn", content=body, headers=headers)).status_code == 200

        served(ask, directory=tmp_path / name)
        return load_run(tmp_path / name)[0].predict_proba_one({"a": 1.0, "b": 2.0})

    data = rows(100)
    as_json = learn(orjson.dumps(data), {"Content-Type": "application/json"}, "json")
    assert learn(b"\n".join(map(orjson.dumps, data)), LINES, "lines") == as_json
    assert learn(arrow_bytes(pa.RecordBatch.from_pylist(data)), ARROW, "arrow") == as_json


def test_arrow_is_answered_in_arrow(served, rows):
    async def ask(client):
        await client.post("/learn", json=rows(50))
        body = arrow_bytes(pa.RecordBatch.from_pylist(rows(7)).select(["a", "b"]))
        return await client.post("/predict", content=body, headers={**ARROW, "Accept": ARROW_TYPE})

    answer = served(ask)
    table = pa.ipc.open_stream(answer.content).read_all()
    assert table.column_names == ["row", "prediction", "probability"]
    assert table.num_rows == 7


def test_bad_rows_are_told_by_number_and_reason_and_the_others_are_learned(served, rows):
    async def ask(client):
        good = rows(2)
        infinite = {**good[0], "a": 1e308 * 10}
        await client.post("/learn", json=good)
        body = orjson.dumps([good[0], {**good[1], "a": "much"}, {"a": 1.0, "b": 0.0, "kind": "x"}, 7, good[1]])
        some = await client.post("/learn", content=body, headers={"Content-Type": "application/json"})
        none = await client.post("/learn", json={"a": None, "y": 3})
        text = arrow_bytes(pa.RecordBatch.from_pylist([{**good[0], "a": float("inf")}, good[1]]))
        refused = await client.post("/learn", content=text, headers=ARROW)
        assert infinite["a"] == float("inf")
        return some, none, refused

    some, none, refused = served(ask)
    assert (some.status_code, some.json()["learned"]) == (200, 2)
    assert {found["row"]: found["reason"] for found in some.json()["refused"]} == {
        1: "field 'a' must be a number, got 'much'",
        2: "target 'y' must be present, got null",
        3: "a message must be one JSON object, got a number",
    }
    assert none.status_code == 422
    assert refused.json()["learned"] == 1
    assert "must be finite, got inf" in refused.json()["refused"][0]["reason"]


def test_a_retry_with_the_same_key_is_learned_once_also_after_a_restart(served, rows):
    key = {"Idempotency-Key": "order-17"}

    async def twice(client):
        first, second = await asyncio.gather(*(client.post("/learn", json=rows(3), headers=key) for _ in range(2)))
        return [first.json(), second.json()], client.service.tail.session.learned

    async def again(client):
        same = await client.post("/learn", json=rows(3), headers=key)
        other = await client.post("/learn", json=rows(4), headers=key)
        return same.json(), other.status_code, client.service.tail.session.learned

    answers, learned = served(twice)
    assert learned == 3
    assert answers[0] == {name: value for name, value in answers[1].items() if name != "repeated"}
    same, status, learned = served(again)
    assert (same["sequence"], same["repeated"], status, learned) == (answers[0]["sequence"], True, 422, 3)


def test_many_requests_share_one_sync(served, rows):
    async def ask(client):
        await client.post("/learn", json=rows(1))
        before = client.service.learner.synced
        await asyncio.gather(*(client.post("/learn", json=row) for row in rows(40)))
        return client.service.learner.synced - before, client.service.tail.session.learned

    syncs, learned = served(ask)
    assert learned == 41
    assert syncs < 20


def test_late_labels_find_their_rows_and_are_told_apart_when_they_do_not(served, rows):
    columns = Columns("y")

    async def ask(client):
        assert (await client.post("/learn", json={"order": 0, "a": 1.0, "y": True})).status_code == 200
        await client.post("/predict", json={"order": "o-1", "a": -3.0})
        await client.post("/predict", json=[{"order": 2, "a": -2.0}, {"a": 5.0}])
        found = await client.post("/label", json=[{"order": "o-1", "y": False}, {"order": 9, "y": True}])
        double = await client.post("/label", json={"order": "o-1", "y": False})
        return found.json(), double, dict(client.service.waiting.counts), len(client.service.waiting)

    async def after_restart(client):
        found = await client.post("/label", json={"order": 2, "y": False})
        return found.json(), client.service.tail.session.learned

    found, double, counts, left = served(ask, columns=columns, identity="order")
    assert found["learned"] == 1
    assert found["refused"] == [
        {"row": 1, "reason": "id '9' must be one that was predicted within 3600 s, got no such row"}
    ]
    assert double.status_code == 422
    assert "has its label already" in double.json()["refused"][0]["reason"]
    assert counts == {"joined": 1, "unknown": 1, "doubled": 1, "expired": 0, "dropped": 0}
    assert left == 1
    found, learned = served(after_restart, columns=columns, identity="order")
    assert (found["learned"], learned) == (1, 3)


def test_a_label_that_comes_too_late_is_refused(served):
    async def ask(client):
        await client.post("/learn", json={"id": 0, "a": 1.0, "y": True})
        await client.post("/predict", json={"id": 1, "a": 1.0})
        await asyncio.sleep(0.05)
        return (await client.post("/label", json={"id": 1, "y": True})).json()

    found = served(ask, columns=Columns("y"), identity="id", label_seconds=0.01)
    assert "must get its label within 0.01 s" in found["refused"][0]["reason"]


def test_labels_without_ids_are_a_conflict(served):
    async def ask(client):
        return await client.post("/label", json={"id": 1, "y": True})

    assert served(ask).status_code == 409


def test_a_source_is_learned_at_the_same_time(served, rows):
    source = MemorySource([dict(row) for row in rows(500)], end="wait")

    async def ask(client):
        await wait_for(client, 500)
        answer = await client.post("/learn", json=rows(5))
        return answer.json()["learned"], client.service.tail.session.learned

    assert served(ask, source=source) == (5, 505)

    async def resumed(client):
        source.append([dict(row) for row in rows(10)])
        return await wait_for(client, 515)

    assert served(resumed, source=source) == 515


def test_a_run_of_tail_is_served_where_it_was_left(served, rows, tmp_path):
    source = MemorySource([dict(row) for row in rows(100)])
    with Tail(source, make_model(), Columns("y", slice_by="kind"), checkpoint=tmp_path / "state") as tail:
        tail.run()

    async def ask(client):
        return (await client.post("/learn", json=rows(5))).json()["learned"], client.service.tail.session.learned

    assert served(ask) == (5, 105)


def test_the_open_inference_protocol_gives_the_answers_of_predict(served, rows):
    async def ask(client):
        await client.post("/learn", json=rows(100))
        inputs = [
            {"name": name, "shape": [5, 1], "datatype": "FP64", "data": [[row[name]] for row in rows(5, 200)]}
            for name in ("a", "b")
        ]
        matrix = [value for row in rows(5, 200) for value in (row["a"], row["b"])]
        whole = [{"name": "input-0", "shape": [5, 2], "datatype": "FP64", "data": matrix}]
        url = "/v2/models/shop/infer"
        return [
            (await client.post(url, json={"id": "7", "inputs": inputs})).json(),
            (await client.post(url, json={"inputs": whole})).json(),
            (await client.post("/predict", json=rows(5, 200))).json(),
            (await client.get("/v2/models/shop")).json(),
        ]

    named, matrix, plain, metadata = served(ask)
    wanted = [found["probability"] for found in plain["predictions"]]
    outputs = {output["name"]: output for output in named["outputs"]}
    assert outputs["probability"]["data"] == wanted
    assert outputs["prediction"]["datatype"] == "BOOL"
    assert named["outputs"] == matrix["outputs"]
    assert named["id"] == "7"
    assert [tensor["name"] for tensor in metadata["inputs"]] == ["a", "b"]


def test_slices_hard_rows_reasons_and_meters_are_there(served, rows):
    async def ask(client):
        await client.post("/learn", json=rows(300))
        client.service.report()
        names = ("/slices", "/hard?k=3", "/schema", "/state", "/openapi.json")
        found = {name: (await client.get(name)).json() for name in names}
        found["/metrics"] = (await client.get("/metrics")).text
        found["/explain"] = (await client.post("/explain", json={"a": 2.0, "b": 1.0})).json()
        return found

    found = served(ask)
    assert {part["name"] for part in found["/slices"]["slices"]} == {"rare", "usual"}
    assert len(found["/hard?k=3"]["rows"]) == 3
    assert {column["name"]: column["role"] for column in found["/schema"]["columns"]} == {
        "a": "feature",
        "b": "feature",
        "kind": "slice",
        "y": "target",
    }
    assert found["/state"]["now"]["learned"] == 300
    assert 'maxloss_rows{state="learned"} 300.0' in found["/metrics"]
    assert {reason["condition"] for reason in found["/explain"]["reasons"]} == {"a", "b", "always"}
    assert "/learn" in found["/openapi.json"]["paths"]


def test_the_document_is_openapi_and_the_meters_are_prometheus(served, rows):
    validator = pytest.importorskip("openapi_spec_validator", reason="the extra dev has it")

    async def ask(client):
        await client.post("/learn", json=rows(100))
        client.service.report()
        return (await client.get("/openapi.json")).json(), (await client.get("/metrics")).text

    document, text = served(ask)
    validator.validate(document)
    families = {family.name: family for family in text_string_to_metric_families(text)}
    wanted = (
        "rows rate lag score worst_slice drift alerts checkpoint_age_seconds queue_rows request_seconds slice_seconds"
    )
    assert {f"maxloss_{name}" for name in wanted.split()} <= families.keys()
    assert families["maxloss_request_seconds"].type == "histogram"


class Choosy(base.Classifier):
    """Fails on some rows, as models do that are not ours."""

    def __init__(self):
        self.rows = 0

    def learn_one(self, x, y):
        if x["a"] < 0:
            raise RuntimeError("negative")
        self.rows += 1

    def predict_one(self, x):
        return True


def test_a_model_that_fails_on_a_row_does_not_take_the_service_down(served):
    async def ask(client):
        answer = await client.post(
            "/learn", json=[{"a": 1.0, "y": True}, {"a": -1.0, "y": True}, {"a": 2.0, "y": True}]
        )
        return answer.json(), client.service.tail.model.rows

    found, learned = served(ask, model=Choosy(), columns=Columns("y"), allow_pickle=True, metrics=["accuracy"])
    assert (found["learned"], learned) == (2, 2)
    assert found["refused"] == [{"row": 1, "reason": "the model failed on it: RuntimeError"}]


def test_readers_are_answered_between_slices_of_a_long_batch(served, rows, monkeypatch):
    slices = []
    take = Learner._learn_slice

    def noted(self, batch):
        slices.append(batch.num_rows)
        take(self, batch)

    async def ask(client):
        await client.post("/learn", json=rows(10))
        monkeypatch.setattr(Learner, "_learn_slice", noted)
        client.service.learner._slice_rows = 50
        learning = asyncio.ensure_future(client.post("/learn", json=rows(300)))
        answered = []
        while not learning.done():
            await client.post("/predict", json=rows(1)[0])
            answered.append(client.service.tail.session.learned)
            await asyncio.sleep(0)  # in one process a request that need not wait does not let others run
        return answered

    answered = served(ask, limits=Limits(slice_seconds=1e-9))
    assert max(slices) <= 50
    assert len(set(answered)) > 10


def test_the_log_is_pruned_behind_the_oldest_checkpoint_that_is_kept(served, rows):
    async def ask(client):
        journal = client.service.log.journal
        for first in range(0, 8):
            await client.post("/learn", json=rows(50, first))
            journal._begin()
            await client.service.learner._save()
            await client.service.learner._finish_saving()
        return journal.segments(), client.service.tail.store.sources()

    segments, positions = served(ask, keep=2, checkpoint_every="1000000")
    assert len(positions) == 2
    assert len(segments) <= 4
    assert segments[0] <= positions[0]["_log"]["next"]


def test_a_late_label_scores_what_was_answered_and_not_what_the_model_says_by_then_also_after_a_restart(served):
    def scores(client):
        board = client.service.tail.session.board
        return board.rows, board.scores()["Accuracy"].total

    async def predict(client):
        await client.post("/learn", json=[{"a": 1.0, "y": True}, {"a": -1.0, "y": False}] * 20)
        said = (await client.post("/predict", json=[{"a": 2.0, "id": n} for n in (1, 2)])).json()["predictions"]
        before = scores(client)
        # From here on the model says the contrary.
        for _ in range(20):
            await client.post("/learn", json=[{"a": 2.0, "y": False}, {"a": -2.0, "y": True}] * 20)
        now = (await client.post("/predict", json={"a": 2.0})).json()
        counts = scores(client)
        await client.post("/label", json={"id": 1, "y": True})
        return [answer["prediction"] for answer in said], now["prediction"], before, counts, scores(client)

    async def label(client):
        before = scores(client)
        await client.post("/label", json={"id": 2, "y": True})
        return before, scores(client)

    options = {"model": HingeOGD(), "columns": Columns("y"), "identity": "id", "metrics": ["accuracy"]}
    said, now, _, counts, after = served(predict, **options)
    assert (said, now) == ([True, True], False)
    for (rows, right), (more, share) in ((counts, after), served(label, **(options | {"model": HingeOGD()}))):
        assert more == rows + 1
        assert round(share * more) == round(right * rows) + 1


def test_a_number_that_would_spoil_the_model_is_refused_and_the_service_can_be_saved(served, rows):
    async def ask(client):
        good = rows(3)
        await client.post("/learn", json=good)
        answer = await client.post("/learn", json=[good[0], {**good[1], "a": -1e308}, good[2]])
        await client.service.learner._save()
        return answer.json()

    found = served(ask)
    assert found["learned"] == 2
    assert found["refused"] == [{"row": 1, "reason": "feature 'a' must lie within 1e+140 of 0, got -1e+308"}]


@pytest.mark.parametrize("name", ["a\0b", "\n", 'say "a"', "a\\b"], ids=["NUL", "line end", "quotes", "backslash"])
def test_a_service_lives_on_whatever_its_columns_are_called(served, tmp_path, name):
    async def ask(client):
        learned = await client.post("/learn", json=[{name: 1.0, "y": True}, {name: -1.0, "y": False}] * 20)
        said = await client.post("/predict", json={name: 1.0})
        return learned.json()["learned"], said.json()["prediction"]

    columns = Columns("y")
    assert served(ask, columns=columns) == (40, True)
    assert served(ask, columns=columns) == (40, True)


def test_rows_without_anything_to_learn_are_refused_before_they_are_logged(served):
    async def ask(client):
        first = await client.post("/learn", json={"": 1.0, "y": True})
        later = await client.post("/learn", json={"a": 1.0, "y": True})
        return first.status_code, first.text, later.json()["learned"]

    status, text, learned = served(ask, columns=Columns("y"))
    assert (status, learned) == (400, 1)
    assert "rows must have features, got none that can be learned from" in text
