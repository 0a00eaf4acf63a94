from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import datasets, evaluate, linear_model, metrics, neighbors, preprocessing

from stream_maxloss.evaluate import progressive
from stream_maxloss.linear import AbsoluteOGD, HingeOGD, Perceptron, Scaler

ROWS = list(datasets.Phishing())[:400]
TABLE = pa.Table.from_pylist([x for x, _ in ROWS]).append_column("label", pa.array([y for _, y in ROWS]))
WEIGHTS = np.random.default_rng(3).choice([0.5, 1.0, 4.0], len(ROWS))

MODELS = {
    "bare": lambda: Perceptron(),
    "averaged": lambda: HingeOGD(averaged=True),
    "scaled": lambda: Scaler() | HingeOGD(),
    "river": lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression(),
}


def metric() -> Any:
    return metrics.Accuracy() + metrics.LogLoss() + metrics.ROCAUC() + metrics.F1()


def last(progress: Any) -> dict[str, float]:
    return list(progress)[-1].values


def river_values(model: Any, rows: list[Any], **options: Any) -> dict[str, float]:
    answer = evaluate.progressive_val_score(iter(rows), model, metric(), **options)
    return {type(part).__name__: part.get() for part in answer}


def batches(size: int) -> list[pa.Table]:
    return [TABLE.slice(first, size) for first in range(0, len(TABLE), size)]


@pytest.mark.parametrize("size", [1, 7, 400])
@pytest.mark.parametrize("name", MODELS)
def test_batches_give_the_result_of_rivers_loop(name: str, size: int) -> None:
    expected = river_values(MODELS[name](), ROWS)
    ours = last(progressive(batches(size), MODELS[name](), metric(), target="label"))
    assert ours == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_rows_give_the_result_of_rivers_loop(name: str) -> None:
    assert last(progressive(ROWS, MODELS[name](), metric())) == pytest.approx(river_values(MODELS[name](), ROWS))


@pytest.mark.parametrize("delay", [1, 25, 399, 400, 1000])
@pytest.mark.parametrize("name", ["bare", "scaled", "river"])
def test_late_labels_give_the_result_of_rivers_delay(name: str, delay: int) -> None:
    expected = river_values(MODELS[name](), ROWS, delay=delay)
    assert last(progressive(ROWS, MODELS[name](), metric(), delay=delay)) == pytest.approx(expected, rel=1e-9)
    ours = last(progressive(batches(33), MODELS[name](), metric(), target="label", delay=delay))
    assert ours == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("delay", [0, 25])
def test_progress_counts_scored_rows_as_river_does(delay: int) -> None:
    options = {"delay": delay} if delay else {}
    theirs = [
        (state["Step"], state["Accuracy"].get())
        for state in evaluate.iter_progressive_val_score(ROWS, Perceptron(), metrics.Accuracy(), step=60, **options)
    ]
    ours = progressive(batches(50), Perceptron(), metrics.Accuracy(), target="label", step=60, delay=delay)
    reported = [(progress.rows, progress.values["Accuracy"]) for progress in ours]
    # River's metric objects go on living while its generator runs, so only their last value can be compared.
    assert [rows for rows, _ in reported] == [60, 120, 180, 240, 300, 360, 400]
    assert [rows for rows, _ in theirs][:6] == [60, 120, 180, 240, 300, 360]
    assert reported[-1][1] == pytest.approx(
        evaluate.progressive_val_score(ROWS, Perceptron(), metrics.Accuracy(), **options).get()
    )


@pytest.mark.parametrize("name", ["bare", "scaled", "river"])
@pytest.mark.parametrize("delay", [0, 10])
def test_sample_weights_give_the_result_of_rivers_loop(name: str, delay: int) -> None:
    weighted = [(x, y, {"w": w}) for (x, y), w in zip(ROWS, WEIGHTS.tolist(), strict=True)]
    expected = river_values(
        MODELS[name](), [(x, y, dict(k)) for x, y, k in weighted], **({"delay": delay} if delay else {})
    )
    assert last(progressive(weighted, MODELS[name](), metric(), delay=delay)) == pytest.approx(expected, rel=1e-9)
    table = TABLE.append_column("cost", pa.array(WEIGHTS))
    ours = last(progressive([table], MODELS[name](), metric(), target="label", weight="cost", delay=delay))
    assert ours == pytest.approx(expected, rel=1e-9)
    pairs = [(TABLE.drop_columns(["label"]), TABLE["label"], {"w": WEIGHTS})]
    assert last(progressive(pairs, MODELS[name](), metric(), delay=delay)) == pytest.approx(expected, rel=1e-9)


def test_a_model_without_sample_weights_ignores_them_as_in_river() -> None:
    weighted = [(x, y, {"w": 2.0}) for x, y in ROWS[:100]]
    model = neighbors.KNNClassifier()
    expected = river_values(model.clone(), [(x, y) for x, y, _ in weighted])
    assert last(progressive(weighted, model, metric())) == pytest.approx(expected)


def test_a_regressor_is_scored_on_its_clipped_values() -> None:
    rows = list(datasets.TrumpApproval())[:300]
    table = pa.Table.from_pylist([{**x, "y": y} for x, y in rows])
    for make in (lambda: AbsoluteOGD(low=38.0, high=42.0), lambda: Scaler() | AbsoluteOGD(lr=1.0, high=41.0)):
        expected = evaluate.progressive_val_score(rows, make(), metrics.MAE() + metrics.RMSE())
        ours = last(progressive([table], make(), metrics.MAE() + metrics.RMSE(), target="y"))
        assert ours == pytest.approx({type(part).__name__: part.get() for part in expected}, rel=1e-9)


def test_frames_of_every_kind_give_the_same_and_an_index_is_no_feature() -> None:
    expected = last(progressive([TABLE], Perceptron(), metric(), target="label"))
    frame = TABLE.to_pandas()
    frame.index = [f"row {i}" for i in range(len(frame))]
    for stream in (
        [frame],
        [pl.from_arrow(TABLE)],
        TABLE.to_batches(),
        [(frame.drop(columns="label"), frame["label"])],
    ):
        model = Perceptron()
        assert last(progressive(stream, model, metric(), target="label")) == pytest.approx(expected)
        assert set(model.weights) == set(ROWS[0][0])


def test_steps_may_be_a_function_and_cut_batches() -> None:
    progress = progressive(
        [TABLE], Perceptron(), metrics.Accuracy(), target="label", step=lambda rows: max(1, 2 * rows)
    )
    reported = list(progress)
    assert [p.rows for p in reported] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 400]
    rows = metrics.Accuracy()
    model = Perceptron()
    for x, y in itertools.islice(ROWS, 64):
        rows.update(y, model.predict_one(x))
        model.learn_one(x, y)
    assert reported[6].values == {"Accuracy": pytest.approx(rows.get())}


def test_an_empty_stream_reports_once() -> None:
    assert [p.rows for p in progressive([], Perceptron(), metrics.Accuracy())] == [0]
    assert [p.rows for p in progressive([], Perceptron(), metrics.Accuracy(), delay=3)] == [0]


ERRORS = {
    "metric of another kind": ({"metric": metrics.MAE()}, r"MAE cannot score .*; choose a metric"),
    "negative delay": ({"delay": -1}, r"delay must not be negative, got -1; "),
    "no step": ({"step": 0}, r"step must be at least 1, got 0; use None"),
    "no target": ({"target": None}, r"target must name the label's column .*, got None"),
    "unknown target": ({"target": "y"}, r"target and weight must be columns, got 'y'; choose from .*label"),
    "unknown weight": ({"weight": "cost"}, r"target and weight must be columns, got 'cost'; choose from"),
}


@pytest.mark.parametrize(("options", "message"), ERRORS.values(), ids=ERRORS)
def test_wrong_arguments_are_named(options: dict[str, Any], message: str) -> None:
    arguments = {"metric": metrics.Accuracy(), "target": "label", **options}
    with pytest.raises(ValueError, match=message):
        list(progressive([TABLE], Perceptron(), **arguments))


def test_pandas_without_labels_in_it_is_cut_like_arrow() -> None:
    frame = pd.DataFrame([x for x, _ in ROWS])
    labels = [y for _, y in ROWS]
    ours = last(progressive([(frame, labels)], Scaler() | Perceptron(), metric(), step=37))
    assert ours == pytest.approx(river_values(Scaler() | Perceptron(), ROWS))
