"""`Ferns`: leaves of random decision ferns."""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.arguments import require_choice, require_count
from stream_maxloss.described import ArrayOf, check_name, check_state
from stream_maxloss.expand.columns import ColumnEdges, numbers_in
from stream_maxloss.expand.edges import edges_of
from stream_maxloss.expand.entries import LARGEST, Entry, Frame, is_text, rows_of
from stream_maxloss.expand.row_transformer import RowTransformer, as_record_batch, flag_column
from stream_maxloss.features import text_feature
from stream_maxloss.machine.compiled import compiled
from stream_maxloss.random import make_generator, next_below, next_uniform
from stream_maxloss.rows.single import TEXT_KINDS, number_of, texts_of

__all__ = ["MOST_EDGES", "MOST_TESTS", "Ferns", "leaf_of", "rest_of", "values_in"]

# Thresholds of a column that tests are drawn from.
MOST_EDGES = 63
# Columns that are looked at; more are left to the features that are kept beside the leaves.
MOST_COLUMNS = 4096
# A leaf has two bytes.
MOST_TESTS = 16


class Ferns(RowTransformer):
    """Add to a row the leaves that it falls into, one of each of several random ferns.

    A fern is `depth` tests of a row; a test is `x > threshold` for a number and `c=v` for text, and an absent value
    fails it. The answers are the bits of the leaf's number. A linear learner over leaves can follow what only several
    columns tell together. Each leaf is a feature `fern 7=19` of value 1/sqrt(ferns), so that together they have the
    length of a single flag and do not drown rare ones.

    The ferns are drawn when `rows` rows have been learned: columns among those that vary there, those whose values
    spread evenly more often, and thresholds half-way between neighbouring values. A column that comes later joins when
    it has been seen as often: it takes a test in about one of as many ferns as there are columns, and the leaves of
    those ferns get new names.

    Whole batches are transformed in one pass; `Ferns() | model` runs in kernels where the model does. `TaughtFerns`
    fits its tests to the labels instead.

    Parameters
    ----------
    ferns
        Number of ferns.
    depth
        Tests of a fern, up to 16; each more doubles the leaves.
    rows
        Rows that thresholds are found on. Before, there are no leaves.
    keep
        What of the row stays beside the leaves: `"text"`, each value as the flag `c=v`, `"all"`, also its numbers (put
        a `Scaler` before, or keep sparse ones), or `"none"`.
    seed
        Seed of the draws; None for a new one each time.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_maxloss.expand import Ferns
    >>> from stream_maxloss.linear import Logistic
    >>> evaluate.progressive_val_score(datasets.Bananas(), Logistic(), metrics.Accuracy())
    Accuracy: 5...%
    >>> evaluate.progressive_val_score(datasets.Bananas(), Ferns(seed=1) | Logistic(), metrics.Accuracy())
    Accuracy: 8...%

    """

    def __init__(
        self, ferns: int = 50, depth: int = 5, rows: int = 100, keep: str = "text", seed: int | None = None
    ) -> None:
        require_count("ferns", ferns, "50 are a good start")
        require_count("depth", depth, "5 are a good start")
        if depth > MOST_TESTS:
            raise ValueError(f"depth must be at most {MOST_TESTS}, got {depth!r}; 5 is a good start")
        require_count("rows", rows, "100 are a good start")
        require_choice("keep", keep, ("text", "all", "none"))
        self.ferns = ferns
        self.depth = depth
        self.rows = rows
        self.keep = keep
        self.seed = seed
        self._generator = make_generator(seed)
        # One more than the first rows, which are drawn from together, can have.
        self._columns = ColumnEdges(rows + 1, MOST_EDGES)
        self._seen = 0
        # The tests of each fern, and how often it was changed since it was drawn.
        self._tests: list[list[tuple[Hashable, float]]] = []
        self._changes: list[int] = []
        # What the last row has changed.
        self._before: tuple[int, Any, Any] = (0, None, None)

    @property
    def value(self) -> float:
        """The value of a leaf."""
        return 1.0 / math.sqrt(self.ferns)

    def learn_one(self, x: dict[Hashable, Any]) -> None:
        """Take a row into account."""
        self._learn(values_in(x))

    def _learn(self, values: Mapping[Hashable, float]) -> None:
        known = {name: value for name, value in values.items() if self._is_looked_at(name)}
        is_drawing = self._seen == self.rows - 1
        first = copy.deepcopy(self._columns.waiting) if is_drawing else None
        ready, seen = self._columns.learn(known), self._seen
        drawn = (copy.deepcopy(self._tests), list(self._changes), self._generator.copy()) if ready or first else None
        self._before = seen, first, drawn
        self._seen = min(seen + 1, self.rows)
        if is_drawing:
            self._draw()
        for name in ready:
            self._join(name)

    def undo(self) -> None:
        """Take back the row that was learned last."""
        self._seen, first, drawn = self._before
        if first is None:
            self._columns.undo()
        else:
            self._columns.waiting, self._columns.edges = first, {}
        if drawn is not None:
            self._tests, self._changes, self._generator = drawn

    def _is_looked_at(self, name: Hashable) -> bool:
        columns = self._columns
        if name in columns.edges or name in columns.waiting:
            return True
        return len(columns.edges) + len(columns.waiting) < MOST_COLUMNS

    def _draw(self) -> None:
        """Draw all ferns from what the first rows had."""
        columns, names, chances = self._columns, [], []
        for name in sorted(columns.waiting, key=str):
            values = columns.waiting[name]
            column = np.array(values + [-np.inf] * (self.rows - len(values)), dtype=np.float32)
            columns.edges[name] = edges_of(column, MOST_EDGES).tolist()
            if columns.edges[name]:
                names.append(name)
                chances.append(evenness(column))
        columns.waiting = {}
        for _ in range(self.ferns if names else 0):
            drawn = [names[draw_place(chances, self._generator)] for _ in range(self.depth)]
            edges = columns.edges
            self._tests.append([(name, edges[name][next_below(self._generator, len(edges[name]))]) for name in drawn])
            self._changes.append(0)

    def _join(self, name: Hashable) -> None:
        """Give a column that came later a test in some ferns."""
        columns, edges = len(self._columns.edges), self._columns.edges[name]
        # It was absent before, so whether it is there is worth a test: no number lies below this.
        edges = [-2.0 * LARGEST, *edges]
        for fern, tests in enumerate(self._tests):
            if next_uniform(self._generator) * columns < 1.0:
                place = next_below(self._generator, self.depth)
                tests[place] = (name, edges[next_below(self._generator, len(edges))])
                self._changes[fern] += 1

    def _fern_name(self, fern: int) -> str:
        return f"fern {fern}" + (f".{self._changes[fern]}" if self._changes[fern] else "")

    def transform_one(self, x: dict[Hashable, Any]) -> dict[Hashable, float]:
        """Return the leaf of each fern, and what is kept of the row."""
        values = values_in(x)
        features: dict[Hashable, float] = {}
        for fern, tests in enumerate(self._tests):
            features[text_feature(self._fern_name(fern), str(leaf_of(values, tests)))] = self.value
        features.update(rest_of(x, values, self.keep))
        return features

    def _entries(self, frame: Frame) -> Iterator[Entry]:
        yield from frame.numbers()
        yield from frame.texts()

    def _new_entries(self, frame: Frame) -> Iterator[Entry]:
        """Yield the features that have no thresholds yet."""
        yield from frame.numbers(self._columns.edges)
        yield from frame.texts(self._columns.edges)

    def _changes_at(self, frame: Frame) -> int | None:
        drawing = self.rows - 1 - self._seen
        if self._seen < self.rows:
            return drawing if drawing < frame.num_rows else None
        return self._columns.ready_at(entry for entry in self._new_entries(frame) if self._is_looked_at(entry.name))

    def _take(self, frame: Frame) -> None:
        columns, entries = self._columns, list(self._new_entries(frame))
        if len(columns.edges) + len(columns.waiting) + len(entries) < MOST_COLUMNS:
            columns.learn_many(entries)
        else:
            # Which columns still find room depends on the order of rows.
            for row in rows_of(entries, frame.num_rows):
                columns.learn({name: value for name, value in row.items() if self._is_looked_at(name)})
        self._seen = min(self._seen + frame.num_rows, self.rows)

    def _learn_row(self, frame: Frame) -> None:
        self._learn({name: float(values[0]) for name, rows, values in self._entries(frame) if len(rows)})

    def leaves_of(self, X: Any) -> NDArray[np.uint16]:
        """Return the leaf of each row in each fern, (rows, ferns) of two bytes each; no ferns before they are drawn."""
        return self._leaves(Frame.of(X))

    def _leaves(self, frame: Frame) -> NDArray[np.uint16]:
        names = dict.fromkeys(name for tests in self._tests for name, _ in tests)
        places = {name: place for place, name in enumerate(names)}
        leaves = np.empty((frame.num_rows, len(self._tests)), dtype=np.uint16)
        if leaves.size:
            values = tested_values(self._entries(frame), places, frame.num_rows)
            find_leaves(
                values,
                np.array([[places[name] for name, _ in tests] for tests in self._tests]),
                np.array([[threshold for _, threshold in tests] for tests in self._tests]),
                leaves,
            )
        return leaves

    def _expand(self, frame: Frame) -> Any:
        leaves = self._leaves(frame)
        columns = {"ferns": self._leaf_column(leaves)} if leaves.shape[1] else {}
        for name, array in zip(frame.names, frame.batch.columns, strict=True):
            if self.keep == "all" or (self.keep == "text" and is_text(array.type)):
                columns[str(name)] = array
        return as_record_batch(columns, frame.num_rows)

    def _leaf_column(self, leaves: NDArray[np.uint16]) -> Any:
        """Return the leaves as a column of maps from their names to their value."""
        rows, ferns = leaves.shape
        codes = (leaves.astype(np.int32) + (np.arange(ferns, dtype=np.int32) << self.depth)).reshape(-1)
        occurs = np.zeros(ferns << self.depth, dtype=np.bool_)
        occurs[codes] = True
        numbers = np.flatnonzero(occurs)
        places = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
        fern_names, last = [self._fern_name(fern) for fern in range(ferns)], (1 << self.depth) - 1
        names = [text_feature(fern_names[number >> self.depth], str(number & last)) for number in numbers.tolist()]
        return flag_column(ferns * np.arange(rows + 1), places[codes], names, self.value)

    def state_dict(self) -> dict[str, Any]:
        """Return what was learned, as JSON and an array."""
        return {
            **self._columns.state_dict(),
            "seen": self._seen,
            "tests": [[list(test) for test in tests] for tests in self._tests],
            "changes": list(self._changes),
            "generator": self._generator.copy(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` of a transformer with the same parameters returned.

        Raises
        ------
        ValueError
            If it is of other parameters.

        """
        tests = [[(check_name(name), float(threshold)) for name, threshold in one] for one in state["tests"]]
        check_state({"generator": state["generator"]}, {"generator": ArrayOf("uint64", (len(self._generator),))})
        seen, changes = state["seen"], state["changes"]
        fits = len(tests) in (0, self.ferns) and all(len(one) == self.depth for one in tests)
        counted = len(changes) == len(tests) and all(isinstance(one, int) and one >= 0 for one in changes)
        if not (fits and counted and isinstance(seen, int) and 0 <= seen <= self.rows):
            raise ValueError(
                f"state must be of {self.ferns} ferns of depth {self.depth}; load it with the same parameters"
            )
        self._columns.load_state_dict(state)
        self._seen, self._tests, self._changes = seen, tests, list(changes)
        self._generator[:] = state["generator"]


def values_in(x: Mapping[Hashable, Any]) -> dict[Hashable, float]:
    """Return the numbers of a row, and 1 for each text value."""
    values = numbers_in(x)
    values.update(texts_in(x))
    return values


def leaf_of(values: Mapping[Hashable, float], tests: list[tuple[Hashable, float]]) -> int:
    """Return the leaf that some values fall into: a bit for each test, the first one highest."""
    leaf = 0
    for name, threshold in tests:
        leaf = 2 * leaf + (values.get(name, -math.inf) > threshold)
    return leaf


def rest_of(x: Mapping[Hashable, Any], values: Mapping[Hashable, float], keep: str) -> dict[Hashable, float]:
    """Return what is kept of a row beside its leaves: nothing, its texts as flags, or its numbers as well."""
    if keep == "none":
        return {}
    features = texts_in(x)
    if keep == "all":
        numbers = {str(name): number_of(name, x[name]) for name in values if name not in features}
        features.update({name: number for name, number in numbers.items() if number is not None})
    return features


def texts_in(x: Mapping[Hashable, Any]) -> dict[Hashable, float]:
    """Return 1 for each text value of a row."""
    texts = ((name, value) for name, value in x.items() if isinstance(value, TEXT_KINDS))
    return {text_feature(name, text): 1.0 for name, value in texts for text in texts_of(name, value)}


def evenness(values: NDArray[np.float32]) -> float:
    """Return the root of the share of rows that do not have the most frequent value.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.expand.ferns import evenness
    >>> evenness(np.array([1, 2, 3, 4], dtype=np.float32)) > evenness(np.array([0, 0, 0, 1], dtype=np.float32))
    True

    """
    _, counts = np.unique(values, return_counts=True)
    return float(np.sqrt(1.0 - counts.max() / len(values)))


def draw_place(chances: list[float], generator: Any) -> int:
    """Draw a place in proportion to its chance."""
    heap = np.cumsum(chances)
    return int(np.searchsorted(heap, next_uniform(generator) * heap[-1], side="right").clip(max=len(chances) - 1))


def tested_values(entries: Iterable[Entry], places: dict[Any, int], rows: int) -> NDArray[np.float64]:
    """Return (rows, tested features) values, minus infinity where a row does not have one."""
    values = np.full((rows, len(places)), -np.inf)
    for name, present, found in entries:
        place = places.get(name)
        if place is not None:
            values[present, place] = found
    return values


@compiled
def find_leaves(values: Any, places: Any, thresholds: Any, leaves: Any) -> None:
    """Write the leaf of each row in each fern: one bit for each test x > threshold, the first the highest.

    Parameters
    ----------
    values
        (rows, tested features) as `tested_values` returns them.
    places, thresholds
        (ferns, depth) which feature each test looks at, and what it must exceed.
    leaves
        (rows, ferns) room for the leaves, two bytes each.

    """
    for i in range(values.shape[0]):
        for fern in range(places.shape[0]):
            leaf = 0
            for d in range(places.shape[1]):
                leaf = 2 * leaf + (values[i, places[fern, d]] > thresholds[fern, d])
            leaves[i, fern] = leaf
