"""A linear model: a feature map and a block of memory, fed with dicts or frames."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.features import FeatureMap, HashedFeatureMap
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.batch_checks import check_length, is_tame
from stream_maxloss.linear.columnar import is_columnar, run_columns
from stream_maxloss.linear.faults import check_rows, feature_name, find_fault, refuse_row, refuse_value
from stream_maxloss.linear.passes import (
    UNREADABLE,
    learn_row_sparse,
    row_entry_points,
    run_csr,
    run_dense,
    run_matrix,
    score_row_sparse,
)
from stream_maxloss.rows import Rows, read_frame, read_row
from stream_maxloss.rows.frame import Numbers, open_numbers

__all__ = ["LinearModel"]

INFINITY = math.inf
FIRST_CAPACITY = 16
# Floats of a model from which on a batch is looked through before it is learned, instead of copying the model.
LARGE_MODEL = 1 << 16


class LinearModel:
    """State and calls that all linear learners share.

    Parameters
    ----------
    rule
        Code of the update rule, from `memory`.
    settings
        Up to four numbers of the rule's own.
    intercept
        Whether a constant-1 feature is added.
    averaged
        Whether scores use the average of the iterates.
    radius
        Radius of the ball that the weights are projected to; 0 for none.
    hash_bits
        Hash features onto 2^hash_bits columns; None for a map that grows.
    initial
        What a new weight starts with.
    adapted
        What the rule's adaptive quantity starts with.
    warmup
        Rows of warm-up.

    """

    def __init__(
        self,
        rule: int,
        settings: tuple[float, ...] = (),
        *,
        intercept: bool,
        averaged: bool = False,
        radius: float = 0.0,
        hash_bits: int | None = None,
        initial: float = 0.0,
        adapted: float = 0.0,
        warmup: int = 0,
    ) -> None:
        self.features: FeatureMap | HashedFeatureMap
        self.features = FeatureMap() if hash_bits is None else HashedFeatureMap(hash_bits)
        self.initial = initial
        memory = layout.allocate(0, warmup)
        memory[layout.RULE] = rule
        memory[layout.INTERCEPT] = intercept
        memory[layout.AVERAGED] = averaged
        memory[layout.RADIUS] = radius
        memory[layout.NEEDS_NORM] = radius > 0.0 or rule in (layout.LLD, layout.LLM)
        memory[layout.FIRST : layout.FIRST + len(settings)] = settings
        memory[layout.ADAPTED] = adapted
        if intercept:
            memory[layout.V_INTERCEPT] = memory[layout.U_INTERCEPT] = initial
        # Every hashed column is known from the start.
        memory[layout.SEEN] = len(self.features)
        self.memory = layout.grow(memory, max(FIRST_CAPACITY, len(self.features)), initial)
        self._begin()

    def _begin(self) -> None:
        """Start without a short cut; the first row sets it up."""
        self.names: tuple[Hashable, ...] = ()
        self.address = self.columns_at = 0
        self._columns: NDArray[np.int64] | None = None
        self._forget_row()

    def _forget_row(self) -> None:
        """Drop the short cut for rows with the names of the last one."""
        self.score_row: Callable[..., float] = score_nothing
        self.learn_row: Callable[..., int] = learn_nothing
        self._is_at_hand = False

    def __getstate__(self) -> dict[str, Any]:
        # The short cut holds views and C objects that do not pickle; it is rebuilt by the next row.
        return {"features": self.features, "initial": self.initial, "memory": self.memory}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def _make_room(self) -> None:
        """Grow the memory to the feature map's size, twofold so that growing costs O(1) a feature."""
        capacity = int(self.memory[layout.CAPACITY])
        needed = len(self.features)
        if needed > capacity:
            self.memory = layout.grow(self.memory, max(needed, 2 * capacity), self.initial)
            self._forget_row()

    def _remember_row(self, x: Mapping[Hashable, Any], columns: NDArray[np.int64]) -> None:
        """Set up the short cut for rows with the names of this one, if each name is one feature."""
        names = tuple(sorted(x, key=self.features.find))
        if len(columns) != len(x) or [self.features.find(name) for name in names] != columns.tolist():
            return
        self.score_row, self.learn_row = row_entry_points()
        self.names = names
        self._columns = None if (columns == np.arange(len(columns))).all() else columns
        self.columns_at = 0 if self._columns is None else columns.ctypes.data
        self.address = self.memory.ctypes.data
        self.memory[layout.ROW_LENGTH] = len(names)
        if self._columns is None:
            self.memory[layout.SEEN] = max(self.memory[layout.SEEN], len(names))

    def learn(self, x: Mapping[Hashable, Any], target: float, w: float) -> None:
        """Learn one row.

        The fast way reads the values of a dict inside the kernel, straight into the memory: it works when the names are
        those of the row before and all values are numbers.
        """
        if not 0.0 < w < INFINITY:
            raise ValueError(f"w must be positive and finite, got {w!r}; leave out rows that should not count")
        self._is_at_hand = self.learn_row(self.address, self.columns_at, self.names, x, target, w) == 0
        if not self._is_at_hand:
            self._learn_slowly(x, target, w)

    def _learn_slowly(self, x: Mapping[Hashable, Any], target: float, w: float) -> None:
        known = len(self.features)
        columns, values = read_row(x, self.features, learn=True)
        self._make_room()
        status = learn_row_sparse(self.memory, columns, values, target, w)
        if status != 0:
            column, value = find_fault(columns, values, status)
            name = feature_name(self.features, column)
            self.features.truncate(known)
            raise refuse_value(status, name, value)
        self._remember_row(x, columns)

    def row_at_hand(self, x: Mapping[Hashable, Any]) -> tuple[NDArray[np.int64] | None, NDArray[np.float64]]:
        """Return columns (None for the first ones) and values of the row that was just learned, absent values as 0."""
        if self._is_at_hand:
            return self._columns, self.memory[layout.HEADER : layout.HEADER + len(self.names)]
        return read_row(x, self.features, learn=False)

    def score(self, x: Mapping[Hashable, Any]) -> float:
        """Return the score of one row."""
        score = self.score_row(self.address, self.columns_at, self.names, x)
        return score if score - score == 0.0 else self.score_slowly(x)

    def score_slowly(self, x: Mapping[Hashable, Any]) -> float:
        """Return the score of a row that the fast way leaves: an absent value makes its score NaN, for one."""
        columns, values = read_row(x, self.features, learn=False)
        return score_row_sparse(self.memory, columns, values)

    def run(self, frame: Any, targets: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score, then learn, each row of a frame; if a row is refused, the model is as before."""
        known = len(self.features)
        before = self.memory
        scores = np.empty(len(targets))
        try:
            numbers = open_numbers(frame, self.features, learn=True)
            stretches: Iterable[Rows]
            stretches = read_frame(frame, self.features, learn=True) if numbers is None else numbers.stretches()
            done = 0
            is_safe = False
            if self.memory.size > LARGE_MODEL:
                # Looking at every value first is cheaper than a copy of the model to go back to.
                stretches = list(stretches)
                check_length(sum(map(len, stretches)), targets)
                check_rows(stretches, self.features, self.memory[layout.RULE] == layout.WINNOW)
                is_safe = self._cannot_overflow(stretches, weights)
            if not is_safe:
                before = self.memory.copy()
                if numbers is not None and len(targets) == numbers.num_rows and is_columnar(self.memory):
                    done = self._run_columns(numbers, targets, weights, scores)
                    stretches = numbers.stretches(done) if done < len(targets) else []
            self._run_stretches(stretches, targets, weights, scores, done)
        except Exception:
            self.memory = before
            self.features.truncate(known)
            self._forget_row()
            raise
        return scores

    def _run_columns(
        self,
        numbers: Numbers,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
        scores: NDArray[np.float64],
    ) -> int:
        """Score and learn rows straight from their columns; return how many, up to the first with a value absent."""
        self._make_room()
        done = run_columns(self.memory, numbers.columns, numbers.table.addresses, targets, weights, scores)
        if done and numbers.prefix:
            self.memory[layout.SEEN] = max(self.memory[layout.SEEN], len(numbers.columns))
        return done

    def _run_stretches(
        self,
        stretches: Iterable[Rows],
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
        scores: NDArray[np.float64],
        first: int,
    ) -> None:
        for rows in stretches:
            part = slice(first, first + len(rows))
            if len(targets[part]) != len(rows):
                check_length(first + len(rows), targets)
            self._make_room()
            row, status = self._pass(rows, targets[part], weights[part], scores[part], learn=True)
            if row >= 0:
                raise refuse_row(rows, self.features, row, status, first)
            first += len(rows)
        check_length(first, targets)

    def _cannot_overflow(self, stretches: list[Rows], weights: NDArray[np.float64]) -> bool:
        """Tell whether no row can make a score overflow: the one fault that shows only on the way."""
        memory = self.memory
        header = memory[: layout.HEADER]
        numbers = np.abs(header[np.isfinite(header) & (header != 0.0)])
        parts = [numbers, 1.0 / numbers, layout.vector_v(memory), layout.vector_u(memory), weights]
        return all(is_tame(part) for part in (*parts, *(rows.values for rows in stretches)))

    def scores(self, frame: Any) -> NDArray[np.float64]:
        """Return the score of each row of a frame."""
        parts = []
        first = 0
        for rows in read_frame(frame, self.features, learn=False):
            nothing = np.zeros(len(rows))
            scores = np.empty(len(rows))
            row, status = self._pass(rows, nothing, nothing, scores, learn=False)
            if row >= 0:
                raise refuse_row(rows, self.features, row, status, first)
            parts.append(scores)
            first += len(rows)
        return np.concatenate(parts)

    def _pass(
        self,
        rows: Rows,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
        scores: NDArray[np.float64],
        learn: bool,
    ) -> tuple[int, int]:
        if rows.indptr is not None:
            return run_csr(self.memory, rows.indptr, rows.columns, rows.values, targets, weights, scores, learn)
        if rows.prefix:
            return run_dense(self.memory, rows.values, targets, weights, scores, learn)
        return run_matrix(self.memory, rows.columns, rows.values, targets, weights, scores, learn)

    @property
    def weights(self) -> dict[Hashable, float]:
        """What was learned, by feature name."""
        values = self.weight_vector()[: len(self.features)].tolist()
        if self.features.grows:
            return dict(zip(self.features.names, values, strict=True))
        untouched = 0.0 if self.memory[layout.RULE] == layout.BALANCED_WINNOW else self.initial
        return {self.features.name_of(column): value for column, value in enumerate(values) if value != untouched}

    def weight_vector(self) -> NDArray[np.float64]:
        """Return the weights that scores are made with, by column."""
        memory = self.memory
        v, u = layout.vector_v(memory), layout.vector_u(memory)
        if memory[layout.RULE] == layout.BALANCED_WINNOW:
            return v - u
        if memory[layout.AVERAGED] and memory[layout.STEPS]:
            return (memory[layout.SCALE_SUM] * v - u) / memory[layout.STEPS]
        return memory[layout.SCALE] * v

    @property
    def intercept(self) -> float:
        """The constant feature's weight."""
        memory = self.memory
        v, u = memory[layout.V_INTERCEPT], memory[layout.U_INTERCEPT]
        if memory[layout.RULE] == layout.BALANCED_WINNOW:
            return float(v - u)
        if memory[layout.AVERAGED] and memory[layout.STEPS]:
            return float((memory[layout.SCALE_SUM] * v - u) / memory[layout.STEPS])
        return float(memory[layout.SCALE] * v)

    def state_dict(self) -> dict[str, Any]:
        """Return everything that was learned, as arrays and JSON."""
        memory = self.memory.copy()
        capacity = int(memory[layout.CAPACITY])
        # The row at hand is no part of what was learned, and would differ between runs that learned the same.
        memory[layout.HEADER : layout.HEADER + capacity] = 0.0
        memory[layout.ROW_LENGTH] = 0.0
        return {"memory": memory, **{f"features.{k}": v for k, v in self.features.state_dict().items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned.

        Raises
        ------
        ValueError
            If the state is of another kind of learner, or of one with other parameters. The model is then unchanged.

        """
        memory = np.array(state["memory"], dtype=np.float64)
        features = type(self.features)(*([self.features.bits] if isinstance(self.features, HashedFeatureMap) else []))
        names = {key[9:]: value for key, value in state.items() if key.startswith("features.")}
        if not fits(memory, self.memory) or bool(names) != features.grows:
            raise ValueError("state must come from the same kind of learner; load it into one of that class")
        features.load_state_dict(names)
        if len(features) > memory[layout.CAPACITY]:
            raise ValueError(
                f"state must have room for its {len(features)} features, got room for {int(memory[layout.CAPACITY])}; "
                "load it into a learner with the same parameters"
            )
        settings = slice(layout.INTERCEPT, layout.NEEDS_NORM + 1)
        if not np.array_equal(memory[settings], self.memory[settings]):
            raise ValueError(
                f"state must come from a learner with the same parameters, got {memory[settings].tolist()} "
                f"where this one has {self.memory[settings].tolist()}; construct it with those"
            )
        self.features = features
        self.memory = memory
        self._forget_row()


def score_nothing(*arguments: Any) -> float:
    """Stand in for the fast way while there is none."""
    return math.nan


def learn_nothing(*arguments: Any) -> int:
    """Stand in for the fast way while there is none."""
    return UNREADABLE


def fits(memory: NDArray[np.float64], own: NDArray[np.float64]) -> bool:
    """Tell whether memory is of the same rule as the learner's own, and as long as its header says."""
    if memory.ndim != 1 or memory.size < layout.HEADER:
        return False
    length = layout.HEADER + 3 * memory[layout.CAPACITY] + memory[layout.WARMUP]
    same = memory[layout.RULE] == own[layout.RULE] and memory[layout.WARMUP] == own[layout.WARMUP]
    return bool(same and memory.size == length)
