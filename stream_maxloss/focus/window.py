"""Rows as they were given, for learners that are not ours."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["RowWindow", "copy_row", "iterate_frame"]

PLAIN = (int, float, str, bool, type(None), np.generic)


def copy_row(x: Any) -> Any:
    """Copy a row so that nothing the caller does to it later is seen."""
    if type(x) is dict and all(isinstance(value, PLAIN) for value in x.values()):
        return dict(x)
    return copy.deepcopy(x)


def iterate_frame(X: Any, y: Any) -> Iterator[tuple[dict[Any, Any], Any]]:
    """Yield the rows of any eager frame or Arrow batch, missing values left out, with their labels."""
    # Loads pyarrow, which learners that only see dicts do without.
    from stream_maxloss.rows.dicts import frame_to_dicts

    labels = column_values(y) if y is not None else None
    for number, x in enumerate(frame_to_dicts(X)):
        yield x, labels[number] if labels is not None else None


def column_values(column: Any) -> list[Any]:
    """Return the values of a series, an array or a sequence as plain Python values."""
    for name in ("to_pylist", "tolist", "to_list"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)


class RowWindow:
    """The rows of the window as given, each with its label and the keywords it was learned with.

    Parameters
    ----------
    capacity
        Number of slots.

    Examples
    --------
    >>> from stream_maxloss.focus.window import RowWindow
    >>> window = RowWindow(capacity=2)
    >>> row = {"a": 1.0}
    >>> window.put(0, row, True, {"w": 2.0})
    >>> row["a"] = 9.0
    >>> window.rows[0]
    ({'a': 1.0}, True, {'w': 2.0}, {})

    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        # (row, label, keywords to learn with, those of them that predicting takes too)
        self.rows: list[tuple[Any, Any, dict[str, Any], dict[str, Any]]] = []

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """Bytes of the rows, by Python's own count; names are shared between rows and not counted."""
        total = sys.getsizeof(self.rows)
        for x, y, keywords, _ in self.rows:
            total += sys.getsizeof(x) + sys.getsizeof(y) + sys.getsizeof(keywords)
            total += sum(map(sys.getsizeof, x.values())) if isinstance(x, dict) else 0
        return total

    def put(self, slot: int, x: Any, y: Any, keywords: dict[str, Any]) -> None:
        """Copy a row into a slot: an earlier one, or the next."""
        shared = {name: value for name, value in keywords.items() if name != "w"} if keywords else keywords
        row = (copy_row(x), y, keywords, shared)
        if slot == len(self.rows):
            self.rows.append(row)
        else:
            self.rows[slot] = row

    def state_dict(self) -> dict[str, Any]:
        """Return the rows as lists that JSON can hold, as long as names, values and keywords can."""
        return {
            "rows": [
                [[[name, plain(value)] for name, value in x.items()] if isinstance(x, dict) else x, plain(y), keywords]
                for x, y, keywords, _ in self.rows
            ]
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up the rows of a window of the same capacity."""
        self.rows = []
        for slot, (x, y, keywords) in enumerate(state["rows"]):
            self.put(slot, dict(x) if isinstance(x, list) else x, y, keywords)


def plain(value: Any) -> Any:
    """Return a NumPy scalar as the Python value it stands for."""
    return value.item() if isinstance(value, np.generic) else value
