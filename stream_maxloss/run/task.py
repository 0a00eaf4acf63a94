"""What a target is, found from the first rows: one of two labels, one of several classes, or a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from stream_maxloss.errors import UsageError
from stream_maxloss.intake.numbers import find_decimal_mark
from stream_maxloss.rows.columns import to_floats
from stream_maxloss.run.closest import listed

__all__ = ["HEAD_ROWS", "Task", "find_task", "is_text"]

HEAD_ROWS = 1000
"""Rows that the decision is made from."""

MOST_TEXTS = 100
"""More distinct texts than this, in most of the first rows another one, are no classes: names, keys, prose."""

MOST_CLASSES = 20
"""Whole numbers with more distinct values than this among the first rows are numbers, not classes."""

CLASS_METRICS = ("Accuracy", "MacroF1", "CrossEntropy")


@dataclass(frozen=True)
class Task:
    """What a target is.

    Parameters
    ----------
    kind
        `binary`: true/false, 0/1, -1/1 or one value against the rest. `class`: labels as they are. `number`:
        regression.
    metrics
        Names of the metrics that suit it; empty for those that suit the model.
    reason
        How it was found, for a user who wonders; empty where nothing had to be found.

    """

    kind: str
    metrics: tuple[str, ...] = ()
    reason: str = ""


def find_task(column: pa.Array, name: str, asked: str | None = None) -> Task:
    """Return what the first values of a target say it is.

    Booleans, 0/1 and -1/1 are binary, and texts are classes, but for those that are numbers as people write them
    (`$1,250.50`). Other whole numbers are classes where there are at most 20 distinct ones, and all other numbers are
    numbers.

    Raises
    ------
    UsageError
        If it is of a type that no label has, or texts of which nearly every row has another one.

    Parameters
    ----------
    column
        The first values.
    name
        The column's name, for messages.
    asked
        `class` or `number` where the user has decided, else None.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.run.task import find_task
    >>> find_task(pa.array([0, 1, 1]), "y").kind, find_task(pa.array(["a", "b"]), "y").kind
    ('binary', 'class')
    >>> find_task(pa.array([7, 2, 9, 9]), "y").reason
    "target 'y' has 3 classes (2, 7, 9) in the first 4 rows; for regression add --task number"
    >>> find_task(pa.array([0.5, 2.25]), "y").kind
    'number'

    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if asked == "number":
        return Task("number")
    if pa.types.is_boolean(column.type):
        return Task("binary")
    if is_text(column.type):
        return text_task(column, name, asked)
    try:
        values = np.unique(to_floats(column))
    except pa.ArrowNotImplementedError as error:
        raise UsageError(f"target {name!r} must be a number, a boolean or text, got {column.type}") from error
    values = values[~np.isnan(values)]
    if is_binary(values):
        return Task("binary")
    is_whole = bool(np.all(np.isfinite(values)) and np.all(values == np.floor(values)))
    if asked == "class":
        return class_task(len(values))
    if is_whole and len(values) <= MOST_CLASSES:
        found = class_task(len(values))
        words = f"{len(values)} classes ({listed([f'{value:g}' for value in values], 5)})"
        return Task(found.kind, found.metrics, say(name, words, len(column), "for regression add --task number"))
    words = f"{len(values):,} distinct numbers"
    return Task("number", (), say(name, words, len(column), "learning a number; for classes add --task class"))


def text_task(column: pa.Array, name: str, asked: str | None) -> Task:
    """Return what texts are: classes, or numbers as people write them."""
    texts = set(column.to_pylist()) - {None, ""}
    if asked is None and find_decimal_mark(column) is not None:
        words = f"{len(texts):,} distinct numbers"
        return Task("number", (), say(name, words, len(column), "learning a number; for classes add --task class"))
    if asked is None and len(texts) > MOST_TEXTS and 2 * len(texts) > len(column):
        raise UsageError(
            f"target {name!r} must be classes or numbers, got {len(texts):,} different texts in the first "
            f"{len(column):,} rows, such as {listed(sorted(texts), 2)}; choose another column, set one value against "
            "the rest (--positive VALUE), or insist (--task class)"
        )
    return class_task(len(texts))


def say(name: str, found: str, rows: int, remedy: str) -> str:
    """Return the line that tells what was found."""
    return f"target {name!r} has {found} in the first {rows:,} rows; {remedy}"


def class_task(count: int) -> Task:
    """Return the task of so many classes."""
    return Task("class", CLASS_METRICS if count > 2 else ())


def is_binary(values: np.ndarray[Any, np.dtype[np.float64]]) -> bool:
    """Return whether distinct values are 0 and 1, -1 and 1, or one of them."""
    found = set(values.tolist())
    return found <= {0.0, 1.0} or found <= {-1.0, 1.0}


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
