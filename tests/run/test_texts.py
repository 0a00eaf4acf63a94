"""Text columns have a bounded number of values: memory and checkpoints stay flat, and both speeds see the same."""

from __future__ import annotations

import logging
import random

import pyarrow as pa
import pytest
from river import compose, linear_model, preprocessing

from stream_maxloss.errors import CheckpointError
from stream_maxloss.evaluate import Engine
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Scaler
from stream_maxloss.run import Tail, TextValues
from stream_maxloss.run.scoreboard import BLOCK_ROWS
from stream_maxloss_connectors.testing import MemorySource


def make_rows(count: int, distinct: int) -> list[dict[str, object]]:
    chance = random.Random(4)
    rows = []
    for _ in range(count):
        a = chance.gauss(0, 1)
        rows.append({"a": a, "id": f"v{chance.randrange(distinct)}", "y": a > 0})
    return rows


def kept_by_hand(values: list[str | None], limit: int) -> list[str | None]:
    known: list[str] = []
    found: list[str | None] = []
    for value in values:
        if value is not None and value not in known and len(known) < limit:
            known.append(value)
        found.append(value if value is None or value in known else "(other)")
    return found


@pytest.mark.parametrize("cut", [1, 7, 50, 200])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_the_first_values_are_kept_however_rows_are_cut(cut: int, kind: pa.DataType) -> None:
    chance = random.Random(2)
    values = [chance.choice([None, *(f"v{n}" for n in range(40))]) for _ in range(200)]
    texts, found = TextValues(limit=15), []
    for first in range(0, 200, cut):
        batch = pa.record_batch({"n": [1.0] * len(values[first : first + cut]), "c": values[first : first + cut]})
        batch = batch.set_column(1, "c", batch["c"].cast(kind))
        found += texts.bound(batch)["c"].to_pylist()
    assert found == kept_by_hand(values, 15)


def test_predicting_adds_no_value() -> None:
    texts = TextValues(limit=2)
    texts.bound(pa.record_batch({"c": ["a"]}))
    assert texts.bound(pa.record_batch({"c": ["b"]}), learn=False)["c"].to_pylist() == ["b"]
    texts.bound(pa.record_batch({"c": ["c"]}))
    assert texts.bound(pa.record_batch({"c": ["b", "a"]}), learn=False)["c"].to_pylist() == ["(other)", "a"]


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        TextValues(limit=0)


@pytest.mark.parametrize(
    "state", [[], {"limit": True, "columns": {}}, {"limit": 3, "columns": {"c": [1]}}, {"limit": 0}]
)
def test_a_state_that_is_none_is_refused(state: object) -> None:
    with pytest.raises(CheckpointError, match="texts of"):
        TextValues().load_state_dict(state)


MODELS = {
    "linear": HingeOGD,
    "focused": lambda: Scaler() | FocusedClassifier(HingeOGD(), window=50, replays=2, seed=1),
    "river": lambda: compose.Select("id") | preprocessing.OneHotEncoder() | linear_model.LogisticRegression(),
}


def names_in(model: object) -> int:
    last = getattr(model, "_last_step", model)
    return len(getattr(last, "classifier", last).weights)


@pytest.mark.parametrize("name", MODELS)
def test_features_end_at_the_limit_and_the_run_says_so_once(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "stream_maxloss.run"):
        source = MemorySource(make_rows(3000, 1000))
        with Tail(source, MODELS[name](), "y", metrics=["accuracy"], texts=TextValues(40)) as tail:
            tail.run()
    assert 41 <= names_in(tail.model) <= 42
    said = [record.getMessage() for record in caplog.records if "more than 40 values" in record.getMessage()]
    assert len(said) == 1
    assert "--exclude id" in said[0]
    assert "--text-limit" in said[0]


def test_one_row_at_a_time_learns_the_same_model() -> None:
    rows = make_rows(600, 300)
    with Tail(MemorySource(rows), MODELS["focused"](), "y", metrics=["accuracy"], texts=TextValues(40)) as tail:
        tail.run()
    slow = MODELS["focused"]()
    ids = kept_by_hand([str(row["id"]) for row in rows], 40)
    for row, value in zip(rows, ids, strict=True):
        slow.learn_one({"a": row["a"], "id": value}, row["y"])
    assert Engine(tail.model).is_native
    assert names_in(slow) == names_in(tail.model)
    quick, other = tail.model._last_step.classifier, slow._last_step.classifier
    assert quick.weights == other.weights


def test_a_resumed_run_keeps_the_same_values_and_the_limit(tmp_path) -> None:
    rows = make_rows(2000, 1000)
    options = {"metrics": ["accuracy"], "checkpoint_every": "500"}

    def run(place: str, limit: int | None, texts: TextValues) -> Tail:
        source = MemorySource(rows)
        with Tail(source, HingeOGD(), "y", checkpoint=tmp_path / place, limit=limit, texts=texts, **options) as tail:
            tail.run()
        return tail

    straight = run("straight", None, TextValues(300))
    run("cut", 700, TextValues(300))
    resumed = run("cut", None, TextValues())
    assert resumed.session.feed.texts.limit == 300
    assert resumed.session.feed.texts.state_dict() == straight.session.feed.texts.state_dict()
    assert resumed.model.weights == straight.model.weights


def test_checkpoints_stay_flat_when_values_keep_coming(tmp_path) -> None:
    sizes = []
    rows = [{"a": 1.0, "id": f"value {n}", "y": n % 2 == 0} for n in range(4 * BLOCK_ROWS)]
    # After whole blocks of scores no rows wait for theirs.
    every = str(BLOCK_ROWS)
    options = {"metrics": ["accuracy"], "checkpoint_every": every, "report_every": every, "keep": 1}
    with Tail(MemorySource(rows), HingeOGD(), "y", checkpoint=tmp_path, texts=TextValues(500), **options) as tail:
        for _ in tail:
            sizes.append(sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()))
    assert len(sizes) >= 3
    assert sizes[-1] <= 1.02 * sizes[1]
