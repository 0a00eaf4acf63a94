"""The learner without knobs: rows a second, beside the forests, and how its cost grows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks.cases.growth import exponent, series
from benchmarks.data import BATCH, as_batches, as_dicts, dense_rows
from benchmarks.point import OURS, Point, claim, floor_claims

TITLE = "The learner without knobs"
INCLUDED = (
    "`AutoClassifier` on 20 dense features with a full window. Beside the forests every system predicts each row and "
    "then learns it: ours by `answer_learn_many` on Arrow batches, River's `ARFClassifier(n_models=10)` on dicts and "
    "CapyMOA's `AdaptiveRandomForestClassifier(ensemble_size=10)` on instances made from the same rows, which is "
    "included; both forests have seen 5,000 rows before. Rates are those of `learn_many`, by processor time: `least` "
    "is bare and untaught, `replays` is the default without its lessons and taught ferns, `normal` the default. One "
    "row at a time is `predict_one` and `learn_one` of a dict. The exponents are slopes through the logarithms of the "
    "cost of a row against the random ferns, each of which has one leaf in a row, and against the window, and of a "
    "pass against its rows."
)
AXIS = None
FEATURES = 20
# Rows that a model has seen before it is timed: a full window, all taught ferns, and lessons at their usual distance.
SEEN = 4 * BATCH
FOREST_SEEN = 5000
CAPYMOA, RIVER = "CapyMOA ARF10", "River ARF10"
FORESTS = {"normal": {CAPYMOA: 10.0, RIVER: 40.0}, "least": {CAPYMOA: 50.0, RIVER: 200.0}}
# Thousand rows a second, and microseconds for one row.
RATES = {"least": 500.0, "replays": 100.0, "normal": 40.0}
ONE = {"least": 10.0, "normal": 50.0}
FERNS = (32, 64, 128, 256)
WINDOWS = (1_000, 10_000, 100_000)
ROWS = (100_000, 400_000)
LIMITS = {"ferns": 1.0, "window": 0.25, "rows": 1.05}


def points(quick: bool) -> list[Point]:
    """Return the forests, the rates, single rows and what cost grows with."""
    forests = [
        Point(
            f"forests-{compute}",
            f"`compute={compute!r}`, each row predicted and learned",
            (OURS, *targets),
            {"task": "forests", "compute": compute},
            targets=targets,
        )
        for compute, targets in FORESTS.items()
    ]
    rates = [
        Point(f"rate-{compute}", f"learn_many, {compute}", (OURS,), {"task": "rate", "compute": compute})
        for compute in RATES
    ]
    ones = [
        Point(f"one-{compute}", f"one row, {compute}", (OURS,), {"task": "one", "compute": compute}) for compute in ONE
    ]
    if quick:
        return [forests[0], *rates, *ones]
    sizes = {"ferns": FERNS, "window": WINDOWS, "rows": ROWS}
    grown = [
        Point(f"{axis}-{size}", f"{size:,} {axis}", (OURS,), {"task": "growth", "axis": axis, "size": size}, repeats=5)
        for axis, chosen in sizes.items()
        for size in chosen
    ]
    return [*forests, *rates, *ones, *grown]


def build(compute: str = "normal", memory: int = 10_000, **level: int) -> Any:
    """Return a new model; `level` changes what is computed, which users cannot."""
    from stream_maxloss.mixture import AutoClassifier
    from stream_maxloss.mixture.experts import LEVELS

    if compute == "replays":
        compute, level = "normal", {"taught": 0, "lesson": 0, **level}
    usual = LEVELS[compute]
    LEVELS[compute] = replace(usual, **level)
    try:
        return AutoClassifier(memory=memory, compute=compute, seed=1)
    finally:
        LEVELS[compute] = usual


def prepare(system: str, settings: dict[str, Any]) -> Callable[[], int]:
    """Return the work of one repeat."""
    task = settings["task"]
    if system in (CAPYMOA, RIVER):
        return prepare_forest(system)
    if task == "growth":
        return prepare_growth(settings["axis"], settings["size"])
    if task == "one":
        return prepare_one(settings["compute"])
    model = trained(build(settings["compute"]))
    step = model.answer_learn_many if task == "forests" else model.learn_many
    return passing(step, 4096)


def trained(model: Any, rows: int = SEEN) -> Any:
    """Return a model that has learned so many rows."""
    batches = as_batches(*dense_rows(min(rows, SEEN), FEATURES))
    for start in range(0, rows, SEEN):
        for place, (batch, labels) in enumerate(batches):
            if start + place * BATCH < rows:
                model.learn_many(batch, labels)
    return model


def passing(step: Callable[[Any, Any], Any], rows: int, passes: int = 1) -> Callable[[], int]:
    """Return some passes over a batch of so many rows."""
    [(batch, labels)] = as_batches(*dense_rows(rows, FEATURES, seed=11))

    def work() -> int:
        for _ in range(passes):
            step(batch, labels)
        return rows * passes

    return work


def prepare_one(compute: str) -> Callable[[], int]:
    """Return a pass over dicts."""
    model = trained(build(compute))
    stream = as_dicts(*dense_rows(1000, FEATURES, seed=11))

    def work() -> int:
        predict, learn = model.predict_one, model.learn_one
        for x, y in stream:
            predict(x)
            learn(x, y)
        return len(stream)

    return work


def prepare_growth(axis: str, size: int) -> Callable[[], int]:
    """Return a pass of a model whose ferns, window or rows are as many as asked for."""
    if axis == "ferns":
        return passing(trained(build("least", untaught=size)).learn_many, 4096)
    if axis == "window":
        return passing(trained(build("replays", memory=size), max(size, BATCH)).learn_many, 4096)
    return passing(trained(build(), BATCH).learn_many, BATCH, max(1, size // BATCH))


def prepare_forest(system: str) -> Callable[[], int]:
    """Return a pass of a forest over a few rows, which it predicts and learns."""
    before, stream = (as_dicts(*dense_rows(rows, FEATURES, seed)) for rows, seed in ((FOREST_SEEN, 7), (100, 11)))
    step = river_forest() if system == RIVER else capymoa_forest()
    for x, y in before:
        step(x, y)

    def work() -> int:
        for x, y in stream:
            step(x, y)
        return len(stream)

    return work


def river_forest() -> Callable[[Any, bool], None]:
    """Return what lets River's forest predict and learn a row."""
    from river import forest

    model = forest.ARFClassifier(n_models=10, seed=1)

    def step(x: Any, y: bool) -> None:
        model.predict_proba_one(x)
        model.learn_one(x, y)

    return step


def capymoa_forest() -> Callable[[Any, bool], None]:
    """Return what lets CapyMOA's forest predict and learn a row."""
    import numpy as np
    from capymoa.classifier import AdaptiveRandomForestClassifier
    from capymoa.core import LabeledInstance
    from capymoa.stream import Schema

    names = [f"feature_{place}" for place in range(FEATURES)]
    schema = Schema.from_custom([*names, "label"], target="label", categories={"label": ["no", "yes"]})
    model = AdaptiveRandomForestClassifier(schema=schema, ensemble_size=10)

    def step(x: Any, y: bool) -> None:
        instance = LabeledInstance.from_array(schema, np.array(list(x.values())), int(y))
        model.predict_proba(instance)
        model.train(instance)

    return step


def conclude(measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the ratios to the forests, the rates, the cost of one row and the exponents."""
    claims = floor_claims([point for point in points(False) if point.targets], measured)
    for compute, target in RATES.items():
        cost = median(measured, f"rate-{compute}")
        if cost:
            claims.append(claim(f"rate-{compute}", f"learn_many, {compute}", 1e-3 / cost, suffix=" k/s", target=target))
    for compute, target in ONE.items():
        cost = median(measured, f"one-{compute}")
        if cost:
            what = f"predict_one and learn_one, {compute}"
            claims.append(claim(f"one-{compute}", what, 1e6 * cost, suffix=" us", target=target, at_most=True))
    for axis, limit in LIMITS.items():
        sizes, costs = series(measured, axis)
        if len(sizes) > 1:
            slope = exponent(sizes, costs) + (1.0 if axis == "rows" else 0.0)
            what = f"{'a pass' if axis == 'rows' else 'a row'} against {axis}: exponent"
            claims.append(claim("", what, slope, suffix="", target=limit, at_most=True))
    return claims


def median(measured: dict[str, dict[str, Any]], point: str) -> float | None:
    """Return the median seconds per row at a point, if it was measured."""
    costs = measured.get(point, {}).get("seconds_per_unit", {})
    return float(costs[OURS]["median"]) if OURS in costs else None
