"""The errors of a model on a stream: while it learns, or of one that has learned."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.streams import Stream

__all__ = ["held_out_errors", "over_seeds", "percent", "progressive_errors", "row_by_row_errors"]

BATCH = 16_384


def progressive_errors(model: Any, stream: Stream, positive_weight: float = 1.0) -> NDArray[np.bool_]:
    """Predict each row before it is learned, a positive one with a weight; return which predictions were wrong."""
    from stream_maxloss.evaluate import Engine

    engine = Engine(model)
    wrong = []
    for first in range(0, len(stream), BATCH):
        part = stream.part(first, min(first + BATCH, len(stream)))
        weights = np.where(part.labels, positive_weight, 1.0)
        scored = engine.learn(part.table, part.labels, weights)
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
    from stream_maxloss.machine.pointers import address_of

    texts = [field.name for field in table.schema if not pa.types.is_primitive(field.type)]
    numbers = [name for name in table.column_names if name not in texts]
    data = np.column_stack([np.asarray(table.column(name), dtype=np.float64) for name in numbers])
    shown, columns = np.empty_like(data), np.arange(len(numbers))
    statistics = np.zeros((3, len(numbers)))
    at, width = address_of(columns), len(numbers)
    scale_stretch(address_of(statistics), width, at, len(data), 0, at, width, address_of(data), address_of(shown), clip)
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


def percent(wrong: NDArray[np.bool_], stream: Stream, slices: Iterable[str]) -> dict[str, float]:
    """Return the errors on all rows and on those slices that there are, in per cent."""
    errors = {"all rows": 100.0 * float(wrong.mean())}
    found = {name: stream.slices[name] for name in slices if name in stream.slices}
    return errors | {name: 100.0 * float(wrong[mask].mean()) for name, mask in found.items() if mask.any()}


def over_seeds(results: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return mean and standard deviation over the seeds of each figure."""
    return {
        name: {
            "mean": float(np.mean([result[name] for result in results])),
            "deviation": float(np.std([result[name] for result in results])),
        }
        for name in results[0]
    }
