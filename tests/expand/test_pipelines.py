from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from river import checks, linear_model, metrics

from stream_maxloss import checkpoint
from stream_maxloss.errors import RowError
from stream_maxloss.evaluate import Engine, progressive
from stream_maxloss.expand import Bins, Ferns, ferns
from stream_maxloss.experts import Mixture
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Logistic

ROWS = 500


def stream(classes: int = 2) -> tuple[list[dict[str, Any]], list[Any]]:
    """Return rows with text, absent values, a column that comes late, a constant and a rare one."""
    draw = np.random.default_rng(1)
    data: list[dict[str, Any]] = []
    for i in range(ROWS):
        x: dict[str, Any] = {"x": float(draw.normal()), "y": float(draw.normal()), "fixed": 1.0}
        x["shape"] = None if i % 11 == 0 else str(draw.choice(["round", "flat", "odd"]))
        x["some"] = float(draw.integers(4)) if i % 3 else None
        x["late"] = float(draw.normal()) if i > 150 and i % 2 else None
        x["rare"] = 1.0 if i % 40 == 7 else None
        data.append(x)
    labels = [int(x["x"] * x["y"] > 0.0) + (classes > 2 and i > 60 and x["shape"] == "odd") for i, x in enumerate(data)]
    return data, labels


NAMES = ["x", "y", "fixed", "shape", "some", "late", "rare"]


def as_table(data: list[dict[str, Any]]) -> pa.Table:
    return pa.table({name: pa.array([x[name] for x in data]) for name in NAMES})


def as_maps(data: list[dict[str, Any]]) -> pa.Table:
    entries = [[(k, v) for k, v in x.items() if k != "shape" and v is not None] for x in data]
    maps = pa.array(entries, type=pa.map_(pa.string(), pa.float64()))
    return pa.table({"entries": maps, "shape": pa.array([x["shape"] for x in data])})


FORMS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "arrow": as_table,
    "maps": as_maps,
    "numbers": lambda data: as_table([{"shape": "", **x} for x in data]).drop_columns(["shape"]),
    "pandas": lambda data: as_table(data).to_pandas(),
    "polars": lambda data: pl.from_arrow(as_table(data)),
}
MODELS: dict[str, Callable[[], Any]] = {
    "bins": lambda: Bins(rows=40) | Logistic(),
    "bins, focused": lambda: Bins(bins=4, rows=30) | FocusedClassifier(Logistic(), window=40, replays=2, seed=1),
    "ferns": lambda: Ferns(ferns=20, rows=50, seed=1) | Logistic(),
    "ferns, focused": lambda: (
        Ferns(ferns=10, depth=3, rows=30, keep="all", seed=1) | FocusedClassifier(Logistic(), window=40, seed=1)
    ),
    "ferns, mixed": lambda: Ferns(ferns=10, rows=30, seed=1) | Mixture([Logistic(), Logistic(lr=1.0)]),
}


def learned(model: Any) -> Any:
    last = getattr(model[-1], "classifier", model[-1])
    state = last.weights() if isinstance(last, Mixture) else (last.weights, last.n_rows)
    kept = model[0].state_dict()
    return state, {key: value.tolist() if key == "generator" else value for key, value in kept.items()}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MODELS)
def test_any_cut_into_batches_gives_the_same_bits(name: str, form: str, classes: int) -> None:
    data, labels = stream(classes)
    if form == "numbers":
        data = [{key: value for key, value in x.items() if key != "shape"} for x in data]
    one, many = MODELS[name](), MODELS[name]()
    said = []
    for x, y in zip(data, labels, strict=True):
        said.append(one.predict_proba_one(x))
        one.learn_one(x, y)
    first, engine = 0, Engine(many, by_class=True)
    assert engine.is_native
    for size in (1, 28, 130, 41, 300):
        batch = FORMS[form](data[first : first + size])
        scored = engine.learn(batch, labels[first : first + size])
        for row, probabilities in enumerate(np.asarray(scored.probabilities).tolist()):
            found = {label: p for label, p in zip(scored.classes or (), probabilities, strict=True) if p}
            assert found == said[first + row]
        first += size
    assert learned(one) == learned(many)


@pytest.mark.parametrize("name", MODELS)
def test_a_resumed_pipeline_continues_with_the_same_bits(name: str, tmp_path: Any) -> None:
    data, labels = stream(3)
    straight, half = MODELS[name](), MODELS[name]()
    straight.learn_many(as_table(data), labels)
    half.learn_many(as_table(data[:170]), labels[:170])
    checkpoint.save(tmp_path, half)
    resumed = checkpoint.load(tmp_path)
    resumed.learn_many(as_table(data[170:]), labels[170:])
    assert learned(straight) == learned(resumed)
    assert straight.predict_proba_one(data[0]) == resumed.predict_proba_one(data[0])


@pytest.mark.parametrize("bad", ["value", "label"])
@pytest.mark.parametrize("name", ["bins", "ferns, focused"])
def test_a_refused_row_is_learned_by_neither_step(name: str, bad: str) -> None:
    data, labels = stream()
    model = MODELS[name]()
    model.learn_many(as_table(data[:20]), labels[:20])
    before = copy.deepcopy(learned(model))
    part, wrong = [dict(x) for x in data[20:120]], list(labels[20:120])
    if bad == "value":
        part[70]["y"] = math.inf
    else:
        wrong[70] = None  # type: ignore[call-overload]
    with pytest.raises(RowError) as caught:
        model.learn_many(as_table(part), np.array(wrong, dtype=object))
    assert caught.value.row == 70
    assert learned(model) == before
    with pytest.raises(ValueError, match="must"):
        model.learn_one(part[70], wrong[70])
    assert learned(model) == before


@pytest.mark.parametrize("transformer", [Bins(rows=50), Ferns(rows=50, seed=1)], ids=["bins", "ferns"])
def test_rivers_learners_take_the_features_too(transformer: Any) -> None:
    data, labels = stream()
    model = transformer | linear_model.LogisticRegression()
    right = 0
    for x, y in zip(data, labels, strict=True):
        right += bool(model.predict_one(x)) == bool(y)
        model.learn_one(x, bool(y))
    again, accuracy = transformer.clone() | linear_model.LogisticRegression(), metrics.Accuracy()
    table = as_table(data).append_column("label", pa.array([y == 1 for y in labels]))
    list(progressive([table.slice(0, 200), table.slice(200)], again, accuracy, target="label"))
    assert not model.is_native
    assert accuracy.get() == right / ROWS


def test_leaves_do_not_drown_rare_flags() -> None:
    # 300 flags of which each row has one, which tells the label; the leaves are of columns that tell nothing.
    draw = np.random.default_rng(1)
    right = {"flags": 0, "leaves beside": 0}
    models = {"flags": Logistic(lr=0.5), "leaves beside": Ferns(seed=1) | Logistic(lr=0.5)}
    for row in range(4000):
        word = int(draw.integers(300))
        noise = {f"noise {k}": float(draw.normal()) for k in range(5)}
        for name, model in models.items():
            x = {"word": f"w{word}", **(noise if name == "leaves beside" else {})}
            right[name] += row >= 2000 and model.predict_one(x) == (word % 2 == 0)
            model.learn_one(x, word % 2 == 0)
    assert right["flags"] == 2000
    assert right["leaves beside"] > 1940


def test_columns_beyond_the_limit_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ferns, "MOST_COLUMNS", 6)
    one, many = Ferns(rows=20, seed=1), Ferns(rows=20, seed=1)
    data, _ = stream()
    for x in data:
        one.learn_one(x)
    many.learn_many(as_table(data[:90]))
    many.learn_many(as_table(data[90:]))
    assert len(one._columns.edges) + len(one._columns.waiting) == 6
    assert one.transform_one(data[0]) == many.transform_one(data[0])


CHECKED = {
    "bins": Bins(rows=20) | Logistic(),
    "ferns": Ferns(rows=20, seed=1) | FocusedClassifier(Logistic(), window=30, seed=1),
    "ferns, binary": Ferns(rows=20, seed=1) | HingeOGD(),
}


def cases() -> Any:
    for name, model in CHECKED.items():
        for place, check in enumerate(checks.yield_checks(model)):
            yield pytest.param(model, check, id=f"{name}-{place}-{check.__name__}")


@pytest.mark.parametrize(("model", "check"), list(cases()))
def test_a_pipeline_passes_rivers_check(model: Any, check: Any) -> None:
    assert not model._unit_test_skips()
    check(model.clone())
