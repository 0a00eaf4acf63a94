"""Streams of stored data sets: those of `benchmarks.data_sets`, and the classes, images and sparse texts besides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import find_data
from benchmarks.data_sets import ABSENT, by_label, features, load, masks, parquet, shuffled, texts_of
from benchmarks.streams.stream import CLASSES, Stream

__all__ = ["by_class", "classes_of", "known", "sparse_texts", "table_of"]

NOT_FEATURES = ("class", "split")
BASEBALL, HOCKEY = 9.0, 10.0


def known(name: str) -> Callable[[int, int], Stream]:
    """Return what loads a stream that the other benchmarks know by name."""
    return lambda seed, rows: load(name, seed, rows)


def file_of(name: str, file: str = "") -> Path:
    """Return the file of a stored data set.

    Raises
    ------
    FileNotFoundError
        If it is not there.

    """
    folder = find_data()
    path = None if folder is None else folder / name / (file or f"{name}.parquet")
    if path is None or not path.is_file():
        raise FileNotFoundError(f"{name}: {ABSENT}")
    return path


def table_of(name: str, positive: str, negative: str) -> Callable[[int, int], Stream]:
    """Return what loads a Parquet file with a column `label`, shuffled."""

    def make(seed: int, rows: int) -> Stream:
        table = parquet(file_of(name))
        taken = table.take(shuffled(table.num_rows, seed, rows)).combine_chunks()
        return by_label(positive, negative, NOT_FEATURES)(taken)

    return make


def by_class(name: str) -> Callable[[int, int], Stream]:
    """Return what loads a Parquet file with a column `class` of several classes, shuffled."""

    def make(seed: int, rows: int) -> Stream:
        table = parquet(file_of(name))
        taken = table.take(shuffled(table.num_rows, seed, rows)).combine_chunks()
        return classes_of(features(taken, NOT_FEATURES), texts_of(taken, "class"))

    return make


def classes_of(table: Any, names: NDArray[np.str_]) -> Stream:
    """Return a stream of several classes, each a slice; the rarest is the one easily missed."""
    slices = masks(names)
    return Stream(table, names, slices, min(slices, key=lambda name: int(slices[name].sum())), CLASSES)


def sparse_texts(name: str, task: str = "label") -> Callable[[int, int], Stream]:
    """Return what loads an svmlight file as rows of maps, shuffled.

    Parameters
    ----------
    name
        The data set.
    task
        "label": positive or not; "classes": all classes; "pair": baseball against hockey alone.

    """

    def make(seed: int, rows: int) -> Stream:
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(str(file_of(name, f"{name}.svm.gz")))
        if task == "pair":
            kept = (y == BASEBALL) | (y == HOCKEY)
            X, y = X[kept], y[kept] == HOCKEY
        places = shuffled(len(y), seed, rows)
        table, y = maps(X[places]), y[places]
        if task == "classes":
            return classes_of(table, y.astype(np.int64).astype(str))
        return Stream(table, y > 0, {"positive": y > 0, "negative": y <= 0}, "positive")

    return make


def maps(X: Any) -> Any:
    """Return a CSR matrix as an Arrow table with one column of maps."""
    import pyarrow as pa

    names = pa.array([f"w{column}" for column in range(X.shape[1])]).take(pa.array(X.indices))
    return pa.table({"words": pa.MapArray.from_arrays(pa.array(X.indptr.astype(np.int32)), names, pa.array(X.data))})
