"""One model at two speeds: `learn_one` over the rows and `learn_many` over any cut into batches end up the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from learners import PUBLIC
from stream_maxloss.linear import (
    LLD,
    LLM,
    AbsoluteOGD,
    BalancedWinnow,
    HingeOGD,
    Logistic,
    MarginPursuit,
    Pegasos,
    Perceptron,
    Scaler,
    Winnow,
)

LEARNERS: dict[str, Callable[[], Any]] = {
    **PUBLIC,
    "Perceptron-bare": lambda: Perceptron(intercept=False),
    "Perceptron-averaged": lambda: Perceptron(averaged=True),
    "Perceptron-hashed": lambda: Perceptron(hash_bits=3),
    "Winnow-theta": lambda: Winnow(theta=1.5, intercept=True),
    "Winnow-hashed": lambda: Winnow(theta=2.0, hash_bits=3),
    "BalancedWinnow-hashed": lambda: BalancedWinnow(beta=1.5, hash_bits=3),
    "HingeOGD-ball-averaged": lambda: HingeOGD(lr=1.0, radius=0.5, averaged=True),
    "HingeOGD-constant-hashed": lambda: HingeOGD(schedule="constant", hash_bits=3),
    "Pegasos-averaged": lambda: Pegasos(l2=1.0, averaged=True),
    "MarginPursuit-small-averaged": lambda: MarginPursuit(scale=0.1, step="sqrt", averaged=True),
    "MarginPursuit-data": lambda: MarginPursuit(scale="data", warmup=4),
    "LLD-averaged": lambda: LLD(lr=1.0, averaged=True),
    "LLM-adaptive-hashed": lambda: LLM(update_epsilon=True, hash_bits=3),
    "Logistic": Logistic,
    "Logistic-constant-hashed": lambda: Logistic(schedule="constant", l2=0.1, hash_bits=3),
    "AbsoluteOGD": lambda: AbsoluteOGD(low=-1.0, high=1.0),
    "AbsoluteOGD-averaged": lambda: AbsoluteOGD(radius=1.0, averaged=True),
    "Scaler | Perceptron": lambda: Scaler() | Perceptron(),
    "Scaler | Pegasos-averaged": lambda: Scaler() | Pegasos(averaged=True),
    "Scaler | LLD-hashed": lambda: Scaler() | LLD(hash_bits=3),
    "Scaler | Logistic": lambda: Scaler() | Logistic(),
    "Scaler | AbsoluteOGD": lambda: Scaler() | AbsoluteOGD(),
    "Scaler-clipped | Perceptron": lambda: Scaler(clip=1.0) | Perceptron(),
}
TEXT = pa.dictionary(pa.int32(), pa.string())
SCHEMAS: dict[str, pa.Schema] = {
    "dense": pa.schema([(name, pa.float64()) for name in "abcde"]),
    "sparse": pa.schema([("entries", pa.map_(pa.string(), pa.float64()))]),
    "mixed": pa.schema([("n", pa.float64()), ("i", pa.int16()), ("b", pa.bool_()), ("s", pa.string()), ("c", TEXT)]),
    "null-ridden": pa.schema([("x", pa.float32()), ("y", pa.int64()), ("z", pa.bool_()), ("t", pa.decimal128(5, 2))]),
    "column-shuffled": pa.schema([(name, pa.float64()) for name in "fghij"]),
}


def random_value(kind: pa.DataType, generator: random.Random, is_unit: bool) -> Any:
    # Eighths: every backend holds them exactly, whatever the width of its floats.
    number = generator.randint(0, 8) / 8.0 if is_unit else generator.randint(-40, 40) / 8.0
    if pa.types.is_map(kind):
        keys = sorted(generator.sample("klmnopq", generator.randint(0, 4)))
        return [(key, random_value(pa.float64(), generator, is_unit)) for key in keys]
    if pa.types.is_boolean(kind):
        return generator.random() < 0.5
    if pa.types.is_integer(kind):
        return round(number)
    if pa.types.is_floating(kind):
        return number
    if pa.types.is_decimal(kind):
        return Decimal(round(2 * number)) / 2
    return generator.choice(["red", "green", ""])


@st.composite
def streams(draw: Any, learner: str, kind: str) -> tuple[list[pa.Table], list[Any], list[float]]:
    """Return batches, labels and sample weights; together the batches are one stream."""
    schema = SCHEMAS[kind]
    nulls = {"dense": 0.0, "sparse": 0.0, "null-ridden": 0.6}.get(kind, 0.2)
    seen = draw(st.integers(0, 30))
    # The values come from a seed: drawn one by one they take a hundred times as long.
    generator = random.Random(draw(st.integers(0, 1 << 30)))
    is_unit = learner.startswith("Winnow")
    rows = [
        {f.name: None if generator.random() < nulls else random_value(f.type, generator, is_unit) for f in schema}
        for _ in range(seen)
    ]
    cuts = sorted(draw(st.lists(st.integers(0, seen), max_size=4)))
    batches = []
    for first, last in zip([0, *cuts], [*cuts, seen], strict=True):
        table = pa.Table.from_pylist(rows[first:last], schema=schema)
        names = list(schema.names)
        if kind == "column-shuffled":
            table = table.select(generator.sample(names, generator.randint(1, len(names))))
        batches.append(table)
    labels = (-4.0, 0.5, 2.0) if "Absolute" in learner else draw(st.sampled_from([(False, True), (0, 1), (-1, 1)]))
    return batches, generator.choices(labels, k=seen), generator.choices((0.25, 1.0, 3.0), k=seen)


def as_dicts(table: pa.Table) -> list[dict[Any, Any]]:
    """Return rows as a caller would write them by hand."""
    rows = []
    for row in table.to_pylist():
        entries = row.pop("entries", None)
        rows.append(row if entries is None else dict(entries))
    return rows


def learner_of(model: Any) -> Any:
    return model[-1] if hasattr(model, "steps") else model


def assert_same(one: Any, many: Any) -> None:
    a, b = learner_of(one), learner_of(many)
    assert b.weights == pytest.approx(a.weights, rel=1e-9, abs=1e-9)
    assert b.intercept == pytest.approx(a.intercept, rel=1e-9, abs=1e-9)
    assert a.n_rows == b.n_rows
    if not isinstance(a, AbsoluteOGD):
        assert a.n_mistakes == b.n_mistakes


def learn_rows(model: Any, batches: list[pa.Table], labels: list[Any], weights: list[float]) -> list[Any]:
    """Learn row by row; return what the model answered before each."""
    answers = []
    rows = [x for batch in batches for x in as_dicts(batch)]
    for x, y, w in zip(rows, labels, weights, strict=True):
        answers.append(model.predict_one(x))
        model.learn_one(x, y, w=w)
    return answers


def parts(batches: list[pa.Table], *columns: list[Any]) -> list[tuple[Any, ...]]:
    """Return the batches with their share of the labels and weights."""
    first, answer = 0, []
    for batch in batches:
        part = slice(first, first + len(batch))
        answer.append((batch, *(column[part] for column in columns)))
        first += len(batch)
    return answer


QUICKLY = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("learner", LEARNERS)
@QUICKLY
@given(data=st.data())
def test_any_cut_into_batches_learns_what_the_rows_teach(learner: str, kind: str, data: Any) -> None:
    batches, labels, weights = data.draw(streams(learner, kind))
    one, many = LEARNERS[learner](), LEARNERS[learner]()
    learn_rows(one, batches, labels, weights)
    for batch, y, w in parts(batches, labels, weights):
        many.learn_many(batch, y, w=w)
    assert_same(one, many)
    for batch in batches:
        if learner_of(one).n_rows:
            asked = [one.predict_one(x) for x in as_dicts(batch)]
            assert many.predict_many(batch).to_pylist() == pytest.approx(asked, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", ["dense", "mixed", "sparse"])
@pytest.mark.parametrize("learner", LEARNERS)
@QUICKLY
@given(data=st.data())
def test_a_batch_is_scored_row_by_row_as_it_is_learned(learner: str, kind: str, data: Any) -> None:
    batches, labels, weights = data.draw(streams(learner, kind))
    one, many = LEARNERS[learner](), LEARNERS[learner]()
    if not many.is_native:
        return
    answers = learn_rows(one, batches, labels, weights)
    said = [many.answer_learn_many(batch, y, w).labels for batch, y, w in parts(batches, labels, weights)]
    if isinstance(learner_of(one), AbsoluteOGD):
        assert np.concatenate(said).tolist() == pytest.approx(answers, rel=1e-9, abs=1e-9)
    elif isinstance(learner_of(one), Logistic):
        # It answers with the labels as they came, and of a class that has not come it says nothing.
        known = next((row + 1 for row, y in enumerate(labels) if y != labels[0]), len(labels))
        assert np.concatenate(said).tolist()[known:] == [y == 1 for y in answers[known:]]
    else:
        assert np.concatenate(said).tolist() == answers


BACKENDS: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
    "RecordBatch": lambda table: pa.RecordBatch.from_pylist(table.to_pylist(), schema=table.schema),
    "chunked": lambda table: pa.concat_tables([table.slice(0, 1), table.slice(1)]),
    "sliced": lambda table: pa.concat_tables([table, table]).combine_chunks().slice(len(table)),
}


@pytest.mark.parametrize("kind", ["dense", "mixed", "null-ridden"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("learner", ["Perceptron", "Pegasos-averaged", "Scaler | Perceptron", "Scaler | LLD-hashed"])
@settings(parent=QUICKLY, max_examples=3)
@given(data=st.data())
def test_every_kind_of_frame_teaches_the_same(learner: str, backend: str, kind: str, data: Any) -> None:
    batches, labels, weights = data.draw(streams(learner, kind))
    arrow, other = LEARNERS[learner](), LEARNERS[learner]()
    for batch, y, w in parts(batches, labels, weights):
        arrow.learn_many(batch, y, w=w)
        frame = BACKENDS[backend](batch)
        other.learn_many(frame, y, w=w)
        assert np.asarray(other.predict_many(frame)).tolist() == arrow.predict_many(batch).to_pylist()
    assert_same(arrow, other)


@pytest.mark.parametrize("backend", ["RecordBatch", "chunked", "sliced"])
@QUICKLY
@given(data=st.data())
def test_map_columns_teach_the_same_in_every_arrow_form(backend: str, data: Any) -> None:
    batches, labels, weights = data.draw(streams("Pegasos", "sparse"))
    table, other = Pegasos(), Pegasos()
    for batch, y, w in parts(batches, labels, weights):
        table.learn_many(batch, y, w=w)
        other.learn_many(BACKENDS[backend](batch), y, w=w)
    assert_same(table, other)


@pytest.mark.parametrize("learner", ["Perceptron", "Winnow", "LLD-averaged", "Scaler | Perceptron"])
def test_a_batch_longer_than_a_stretch_is_still_one_stream(learner: str) -> None:
    # 200 columns are read 256 rows at a time; the last columns first appear in the second and third stretch.
    generator = np.random.default_rng(5)
    matrix = generator.integers(0, 2, (600, 200)).astype(float)
    matrix[:300, 190:] = np.nan
    matrix[:550, 197:] = np.nan
    labels = generator.random(600) < 0.5
    table = pa.table({f"f{j}": pa.array(matrix[:, j], from_pandas=True) for j in range(200)})
    one, many = LEARNERS[learner](), LEARNERS[learner]()
    learn_rows(one, [table], labels.tolist(), [1.0] * 600)
    many.learn_many(table, labels)
    assert_same(one, many)
