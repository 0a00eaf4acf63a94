"""Labelled streams with slices that matter, and the progressive errors of a model on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import find_data

__all__ = [
    "ABSENT",
    "Stream",
    "elec2",
    "find_set",
    "held_out_errors",
    "nsl_kdd",
    "over_seeds",
    "percent",
    "progressive_errors",
    "protein_homology",
    "row_by_row_errors",
]

ABSENT = "the data set is absent; name the folder of data sets in STREAM_MAXLOSS_DATA"
BATCH = 16_384
NSL_KDD_TRAIN = 125_973
# What says which attack a row is, and how many learners of another study got it right.
NSL_KDD_ANSWERS = ("attack", "difficulty", "split", "category", "label", "label_r2l", "label_u2r")
# The date tells the rows apart, and the label is computed from the price.
ELEC2_LEFT_OUT = ("date", "nswprice", "label")


@dataclass(frozen=True)
class Stream:
    """Rows with their labels, and which of them belong to a slice.

    Parameters
    ----------
    table
        The features.
    labels
        A label for each row.
    slices
        By name, which rows belong to a slice.

    """

    table: Any
    labels: NDArray[np.bool_]
    slices: dict[str, NDArray[np.bool_]]

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, first: int, last: int) -> Stream:
        """Return the rows from `first` up to `last`."""
        rows = slice(first, last)
        slices = {name: mask[rows] for name, mask in self.slices.items()}
        return Stream(self.table.slice(first, last - first), self.labels[rows], slices)


def find_set(name: str) -> Path | None:
    """Return the file of a data set, or None where it is absent."""
    folder = find_data()
    path = None if folder is None else folder / name / f"{name}.parquet"
    return path if path is not None and path.is_file() else None


def nsl_kdd(seed: int, rows: int | None = None) -> Stream:
    """Return the training rows of NSL-KDD, shuffled: attacks against the rest, two kinds of attack being rare."""
    table = read("nsl_kdd").slice(0, NSL_KDD_TRAIN)
    table = table.take(np.random.default_rng(seed).permutation(len(table))[:rows])
    kinds = np.asarray(table.column("category").to_pylist())
    labels = np.asarray(table.column("label")) > 0
    return Stream(table.drop_columns(list(NSL_KDD_ANSWERS)), labels, {kind: kinds == kind for kind in ("u2r", "r2l")})


def protein_homology(seed: int, rows: int | None = None) -> Stream:
    """Return the rows of KDD Cup 2004's protein homology, shuffled; the homologous proteins are the slice."""
    table = read("protein_homology")
    table = table.take(np.random.default_rng(seed).permutation(len(table))[:rows])
    labels = np.asarray(table.column("label")) > 0
    return Stream(table.drop_columns(["block_id", "example_id", "label"]), labels, {"positives": labels})


def elec2() -> Stream:
    """Return the half hours of Elec2 in their order, without the date and the price that the label is computed from."""
    table = read("elec2")
    labels = np.asarray(table.column("label")) > 0
    return Stream(table.drop_columns([name for name in ELEC2_LEFT_OUT if name in table.column_names]), labels, {})


def read(name: str) -> Any:
    """Return a data set as a table in one piece."""
    import pyarrow.parquet as pq

    path = find_set(name)
    if path is None:
        raise FileNotFoundError(f"{name}: {ABSENT}")
    return pq.read_table(path).combine_chunks()


def progressive_errors(model: Any, stream: Stream) -> NDArray[np.bool_]:
    """Predict each row before it is learned; return which predictions were wrong."""
    from stream_maxloss.evaluate import Engine

    engine = Engine(model)
    wrong = []
    for first in range(0, len(stream), BATCH):
        part = stream.part(first, min(first + BATCH, len(stream)))
        scored = engine.learn(part.table, part.labels)
        said = scored.y_pred if scored.answers is None else np.array([bool(answer) for answer in scored.answers])
        wrong.append(said != part.labels)
    return np.concatenate(wrong)


def row_by_row_errors(model: Any, stream: Stream, clip: float) -> NDArray[np.bool_]:
    """Do as `progressive_errors` does for `Scaler(clip) | model`, around a model that learns row by row.

    In Python the scaler would take most of the time, so all rows are scaled beforehand: each once with the statistics
    before it, to be predicted, and once with its own, to be learned, as the pipeline does it.
    """
    shown, learned = scaled_dicts(stream.table, clip)
    wrong = np.empty(len(stream), dtype=bool)
    for row, label in enumerate(stream.labels.tolist()):
        wrong[row] = model.predict_one(shown[row]) != label
        model.learn_one(learned[row], label)
    return wrong


def scaled_dicts(table: Any, clip: float) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """Return rows scaled with the statistics before each, and with its own; text becomes a 0 or 1 for each value.

    Our learners make the same of text; as numbers, all rows have the same features, which is faster in Python.
    """
    import pyarrow as pa

    from stream_maxloss.linear.statistics import scale_stretch

    texts = [field.name for field in table.schema if not pa.types.is_primitive(field.type)]
    numbers = [name for name in table.column_names if name not in texts]
    data = np.column_stack([np.asarray(table.column(name), dtype=np.float64) for name in numbers])
    shown, columns = np.empty_like(data), np.arange(len(numbers))
    statistics = np.zeros((3, len(numbers)))
    scale_stretch(statistics, columns, np.zeros(1, np.int64), columns, data.reshape(-1), shown.reshape(-1), clip)
    flags = {}
    for name in texts:
        words = np.asarray(table.column(name).to_pylist())
        flags.update({f"{name}={word}": (words == word).astype(np.float64) for word in np.unique(words).tolist()})
    names = [*numbers, *flags]
    both = []
    for matrix in (shown, data):
        rows = np.column_stack([matrix, *flags.values()]).tolist()
        both.append([dict(zip(names, row, strict=True)) for row in rows])
    return both[0], both[1]


def held_out_errors(model: Any, stream: Stream) -> NDArray[np.bool_]:
    """Predict rows without learning them; return which predictions were wrong."""
    said: NDArray[np.bool_] = np.asarray(model.predict_many(stream.table), dtype=bool)
    return said ^ stream.labels


def percent(wrong: NDArray[np.bool_], stream: Stream) -> dict[str, float]:
    """Return the errors on all rows and on each slice, in per cent."""
    errors = {"all rows": 100.0 * float(wrong.mean())}
    return errors | {name: 100.0 * float(wrong[mask].mean()) for name, mask in stream.slices.items() if mask.any()}


def over_seeds(results: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return mean and standard deviation over the seeds of each figure."""
    return {
        name: {
            "mean": float(np.mean([result[name] for result in results])),
            "deviation": float(np.std([result[name] for result in results])),
        }
        for name in results[0]
    }
