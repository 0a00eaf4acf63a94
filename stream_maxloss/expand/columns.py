"""The first values of each column, and the thresholds that come from them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from stream_maxloss.described import check_name
from stream_maxloss.expand.edges import edges_of
from stream_maxloss.expand.entries import LARGEST, Entry
from stream_maxloss.rows.single import TEXT_KINDS, number_of

__all__ = ["ColumnEdges", "numbers_in", "pairs_of"]


def numbers_in(x: Mapping[Hashable, Any]) -> dict[Hashable, float]:
    """Return the numbers of a row, text and absent values left out.

    Raises
    ------
    ValueError
        If a value is infinite.
    TypeError
        If a value is neither a number nor text.

    """
    numbers: dict[Hashable, float] = {}
    for name, value in x.items():
        if not isinstance(value, TEXT_KINDS):
            number = number_of(name, value)
            if number is not None:
                numbers[name] = min(max(number, -LARGEST), LARGEST)
    return numbers


class ColumnEdges:
    """Thresholds of each column, from its own first values.

    Parameters
    ----------
    rows
        Values that a column must have had.
    most
        The largest number of thresholds.

    """

    def __init__(self, rows: int, most: int) -> None:
        self.rows, self.most = rows, most
        self.waiting: dict[Hashable, list[float]] = {}
        self.edges: dict[Hashable, list[float]] = {}
        # What the last row has changed: the columns that got a value, and the values of those that got thresholds.
        self._last: list[tuple[Hashable, list[float] | None]] = []

    def learn(self, numbers: Mapping[Hashable, float]) -> list[Hashable]:
        """Take in the numbers of a row; return the columns that have thresholds from now on, in the order of names."""
        ready = []
        self._last = []
        for name in [name for name in numbers if name not in self.edges]:
            values = self.waiting.setdefault(name, [])
            values.append(numbers[name])
            if len(values) == self.rows:
                self.edges[name] = edges_of(np.array(values, dtype=np.float32), self.most).tolist()
                del self.waiting[name]
                ready.append(name)
            self._last.append((name, values if name in self.edges else None))
        return sorted(ready, key=str)

    def undo(self) -> None:
        """Take back the last row."""
        for name, values in self._last:
            if values is not None:
                del self.edges[name]
                self.waiting[name] = values
            self.waiting[name].pop()
            if not self.waiting[name]:
                del self.waiting[name]
        self._last = []

    def learn_many(self, entries: Iterable[Entry]) -> None:
        """Take in the numbers of rows that give no column its thresholds."""
        for name, _, values in entries:
            if name not in self.edges and len(values):
                self.waiting.setdefault(name, []).extend(values.tolist())

    def ready_at(self, entries: Iterable[Entry]) -> int | None:
        """Return the first row that would give a column its thresholds, or None."""
        found = [
            int(rows[missing - 1])
            for name, rows, _ in entries
            if name not in self.edges and len(rows) >= (missing := self.rows - len(self.waiting.get(name, ())))
        ]
        return min(found, default=None)

    def state_dict(self) -> dict[str, Any]:
        """Return the values and thresholds as JSON."""
        return {"waiting": pairs_of(self.waiting), "edges": pairs_of(self.edges)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned.

        Raises
        ------
        ValueError
            If the lists are longer than they can be or hold anything but finite numbers.

        """
        parts = ({check_name(name): checked(values) for name, values in state[part]} for part in ("waiting", "edges"))
        waiting, edges = parts
        if any(len(values) >= self.rows for values in waiting.values()):
            raise ValueError(
                f"waiting must hold fewer than {self.rows} values of a column; load it with the same `rows`"
            )
        if any(len(values) > self.most or sorted(values) != values for values in edges.values()):
            raise ValueError(f"edges must be at most {self.most} ascending thresholds")
        self.waiting, self.edges, self._last = waiting, edges, []


def pairs_of(columns: Mapping[Hashable, list[float]]) -> list[list[Any]]:
    """Return names with their values as JSON, in the order of names, which both speeds share."""
    return [[name, list(columns[name])] for name in sorted(columns, key=str)]


def checked(values: Any) -> list[float]:
    """Return a list of finite numbers."""
    if not isinstance(values, list) or not np.isfinite(np.array(values, dtype=np.float64)).all():
        raise ValueError(f"a column must have a list of finite numbers, got {values!r:.100}")
    return [float(value) for value in values]
