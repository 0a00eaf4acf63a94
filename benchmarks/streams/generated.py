"""Streams that River brings along or makes from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Any

import numpy as np

from benchmarks.data_sets import features, shuffled
from benchmarks.streams.stored import classes_of
from benchmarks.streams.stream import BINARY, CLASSES, NUMBER, Stream

__all__ = ["bundled", "generated"]

Row = tuple[dict[Any, Any], Any]
# The last seed of a drifting stream's concepts lies this far from the first, so that no two shuffles share one.
APART = 1000


def as_stream(rows: Iterable[Row], kind: str) -> Stream:
    """Return River's rows as a stream."""
    import pyarrow as pa

    pairs = list(rows)
    table = features(pa.Table.from_pylist([{str(name): value for name, value in x.items()} for x, _ in pairs]), ())
    if kind == CLASSES:
        return classes_of(table, np.array([str(y) for _, y in pairs]))
    if kind == NUMBER:
        return Stream(table, np.array([float(y) for _, y in pairs]), {}, kind=NUMBER)
    labels = np.array([bool(y) for _, y in pairs])
    return Stream(table, labels, {"positive": labels, "negative": ~labels}, "positive")


def bundled(name: str, kind: str, ordered: bool = False) -> Callable[[int, int], Stream]:
    """Return what loads a data set that River brings along, in its order or shuffled."""

    def make(seed: int, rows: int) -> Stream:
        from river import datasets

        pairs = [(plain(x), y) for x, y in getattr(datasets, name)()]
        places = range(min(rows, len(pairs))) if ordered else shuffled(len(pairs), seed, rows)
        return as_stream([pairs[place] for place in places], kind)

    return make


def plain(x: dict[Any, Any]) -> dict[Any, Any]:
    """Return a row with a date as its day and a moment also as its hour: numbers, which every system takes."""
    row: dict[Any, Any] = {}
    for name, value in x.items():
        row[name] = value.toordinal() if hasattr(value, "toordinal") else value
        if hasattr(value, "hour"):
            row[f"{name} hour"] = value.hour + value.minute / 60.0
    return row


def sea(seed: int, rows: int) -> Iterable[Row]:
    """Return SEA with 10 % noise, whose threshold changes abruptly after each quarter."""
    from river.datasets import synth

    quarter = rows // 4 + 1
    parts = [synth.SEA(variant=variant, noise=0.1, seed=seed + APART * variant) for variant in (0, 1, 2, 3)]
    return chain.from_iterable(part.take(quarter) for part in parts)


def agrawal(seed: int, rows: int) -> Iterable[Row]:
    """Return Agrawal's loan applications, whose rule changes abruptly half way."""
    from river.datasets import synth

    before = synth.Agrawal(classification_function=0, seed=seed, perturbation=0.05)
    after = synth.Agrawal(classification_function=4, seed=seed + APART, perturbation=0.05)
    return chain(before.take(rows // 2), after.take(rows))


def hyperplane(seed: int, rows: int) -> Iterable[Row]:
    """Return a plane in 10 dimensions of which 5 turn slowly."""
    from river.datasets import synth

    return synth.Hyperplane(seed=seed, n_features=10, n_drift_features=5, mag_change=0.001)


def led(seed: int, rows: int) -> Iterable[Row]:
    """Return digits of seven segments, each wrong in 10 % of the rows, among 17 that mean nothing."""
    from river.datasets import synth

    return synth.LED(seed=seed, noise_percentage=0.1, irrelevant_features=True)


def random_rbf(seed: int, rows: int) -> Iterable[Row]:
    """Return four classes around 50 centres, all of which move."""
    from river.datasets import synth

    return synth.RandomRBFDrift(
        seed_model=seed, seed_sample=seed, n_classes=4, n_features=10, n_centroids=50, change_speed=0.0001
    )


def friedman(seed: int, rows: int) -> Iterable[Row]:
    """Return Friedman's function of 10 columns of which 5 count."""
    from river.datasets import synth

    return synth.Friedman(seed=seed)


def friedman_drift(seed: int, rows: int) -> Iterable[Row]:
    """Return Friedman's function whose columns change their roles twice, everywhere and abruptly."""
    from river.datasets import synth

    return synth.FriedmanDrift(drift_type="gra", position=(rows // 3, 2 * rows // 3), transition_window=1, seed=seed)


MADE: dict[str, tuple[Callable[[int, int], Iterable[Row]], str]] = {
    "sea": (sea, BINARY),
    "agrawal": (agrawal, BINARY),
    "hyperplane": (hyperplane, BINARY),
    "led": (led, CLASSES),
    "random_rbf": (random_rbf, CLASSES),
    "friedman": (friedman, NUMBER),
    "friedman_drift": (friedman_drift, NUMBER),
}


def generated(name: str) -> Callable[[int, int], Stream]:
    """Return what makes a stream from a seed."""
    make, kind = MADE[name]
    return lambda seed, rows: as_stream(islice(iter(make(seed, rows)), rows), kind)
