"""A model: a feature map and a block of memory, fed with dicts or frames."""

from __future__ import annotations

import math
import threading
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.described import check_numbers
from stream_maxloss.features import FeatureMap, HashedFeatureMap
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.additive import Rule, additive
from stream_maxloss.linear.batches import changed_meanwhile, check_columns
from stream_maxloss.linear.faults import feature_name, find_fault, refuse_value
from stream_maxloss.linear.memory import fits
from stream_maxloss.linear.passes import learn_sparse_row, row_kernels, score_sparse_row
from stream_maxloss.linear.program import Program
from stream_maxloss.machine.dict_values import PLAIN_NUMBERS
from stream_maxloss.machine.pointers import address_of
from stream_maxloss.rows import read_row
from stream_maxloss.rows.single import enter_row, feature_values

__all__ = ["NOWHERE", "LinearModel", "fits", "linear_model"]

INFINITY = math.inf
# Whole numbers up to here are exact.
MOST_ROWS = 2.0**53
FIRST_CAPACITY = 16
# A short cut that no row fits. Another thread may put a kernel in place just after the last short cut was dropped, and
# a kernel reads its short cut without looking how long it is.
NO_MEMORY = layout.allocate(0)
NO_MEMORY[layout.ROW_LENGTH] = -1.0
NOWHERE: tuple[Any, ...] = (address_of(NO_MEMORY), 0, PLAIN_NUMBERS, NO_MEMORY)


def linear_model(
    rule: Rule,
    settings: tuple[float, ...] = (),
    *,
    averaged: bool = False,
    radius: float = 0.0,
    **others: Any,
) -> LinearModel:
    """Return the model of an additive rule.

    Parameters
    ----------
    rule
        Its equation.
    settings, others
        See `LinearModel`.
    averaged
        Whether scores use the average of the iterates.
    radius
        Radius of the ball that the weights are projected to; 0 for none.

    """
    model = LinearModel(additive(rule, averaged, radius > 0.0), settings, **others)
    memory = model.memory
    memory[layout.AVERAGED], memory[layout.RADIUS] = averaged, radius
    memory[layout.NEEDS_NORM] = radius > 0.0 or rule.needs_norm
    return model


class LinearModel:
    """State and calls that all learners share whose program runs over a block of memory.

    Parameters
    ----------
    program
        What the learner does to its memory.
    settings
        Up to four numbers of its own.
    intercept
        Whether a constant-1 feature is added.
    hash_bits
        Hash features onto 2^hash_bits columns; None for a map that grows.
    initial
        What a new entry of each vector starts with.
    adapted
        What the adaptive quantity starts with.
    own
        Numbers of its own at the end of the memory.

    """

    def __init__(
        self,
        program: Program,
        settings: tuple[float, ...] = (),
        *,
        intercept: bool = False,
        hash_bits: int | None = None,
        initial: tuple[float, ...] | None = None,
        adapted: float = 0.0,
        own: int = 0,
    ) -> None:
        self.kernels = row_kernels(program)
        self.features: FeatureMap | HashedFeatureMap
        self.features = FeatureMap() if hash_bits is None else HashedFeatureMap(hash_bits)
        self.initial = initial or (0.0,) * program.vectors
        memory = layout.allocate(0, program.vectors, own)
        memory[layout.RULE] = program.number
        memory[layout.INTERCEPT] = intercept
        memory[layout.FIRST : layout.FIRST + len(settings)] = settings
        memory[layout.ADAPTED] = adapted
        if intercept:
            memory[layout.V_INTERCEPT] = memory[layout.U_INTERCEPT] = self.initial[0]
        if program.prepare is not None:
            # Every hashed column is known from the start.
            memory[layout.SEEN] = len(self.features)
        self.memory = layout.grow(memory, max(FIRST_CAPACITY, len(self.features)), self.initial)
        self._begin()

    def _begin(self) -> None:
        """Start without a short cut; the first row sets it up."""
        self._lock = threading.Lock()
        self._columns: NDArray[np.int64] | None = None
        self._names: tuple[Hashable, ...] = ()
        self._forget_row()

    def _forget_row(self) -> None:
        """Drop the short cut for rows with the names of the last one."""
        self.kernels = row_kernels(self.kernels.program)
        self.shortcut: tuple[Any, ...] = NOWHERE
        self._scored = 0
        self._is_at_hand = False

    def __getstate__(self) -> dict[str, Any]:
        # The short cut holds views and C objects that do not pickle; it is rebuilt by the next row. Kernels are made
        # of functions, which pickle by their names: those of a program are found again by whoever made the model.
        return {"features": self.features, "initial": self.initial, "memory": self.memory, "program": self.program}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        self.kernels = row_kernels(state.pop("program"))
        self.__dict__.update(state)
        self._begin()

    @property
    def program(self) -> Program:
        """What the learner does to its memory."""
        return self.kernels.program

    def __enter__(self) -> None:
        # `with model:` keeps other calls out: of other threads, and of Python code that a row may run.
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                "a model must be changed by one call at a time, got a second one meanwhile; "
                "give each thread its own model or use a lock"
            )
        self.memory[layout.BUSY] = 1.0

    def __exit__(self, *error: object) -> None:
        self.memory[layout.BUSY] = 0.0
        self._lock.release()

    def _replace(self, memory: NDArray[np.float64]) -> None:
        """Go on with other memory; a call that still holds the old one finds out by its length of row."""
        self.memory[layout.ROW_LENGTH] = -1.0
        self.memory = memory
        self._forget_row()

    def _make_room(self) -> None:
        """Grow the memory to the feature map's size, twofold so that growing costs O(1) a feature."""
        capacity = int(self.memory[layout.CAPACITY])
        needed = len(self.features)
        if needed > capacity:
            self._replace(layout.grow(self.memory, max(needed, 2 * capacity), self.initial))

    def _remember_row(self, x: Mapping[Hashable, Any], columns: NDArray[np.int64]) -> None:
        """Set up the short cut for rows with the names of this one, if each name is one feature."""
        names = tuple(sorted(x, key=self.features.find))
        if len(columns) != len(x) or [self.features.find(name) for name in names] != columns.tolist():
            return
        memory = self.memory
        is_known, self._names = names == self._names, names
        self._columns = None if (columns == np.arange(len(columns))).all() else columns
        columns_at = 0 if self._columns is None else address_of(columns)
        memory[layout.ROW_LENGTH] = len(names)
        # The arrays at the end live as long as a call with the tuple.
        self.shortcut = (address_of(memory), columns_at, PLAIN_NUMBERS, *names, memory, columns)
        # Made for the second row of the same names: the first one has waited for a kernel already.
        if is_known:
            self.kernels = row_kernels(self.program, True, self.kernels.scores)

    def _remember_scored(self, x: Mapping[Hashable, Any], columns: NDArray[np.int64]) -> None:
        """Set up the short cut from a row that is scored: after a batch no row that was learned has done so."""
        memory = self.memory
        self._remember_row(x, columns)
        if self.memory is not memory:  # another thread has begun to learn: its memory is a new one
            self._forget_row()

    def learn(self, x: Mapping[Hashable, Any], target: float, w: float) -> None:
        """Learn one row.

        The fast way reads the values of a dict inside the kernel, straight into the memory: it works when the names are
        those of the row before and all values are plain numbers.
        """
        if not 0.0 < w < INFINITY:
            raise ValueError(f"w must be positive and finite, got {w!r}; leave out rows that should not count")
        self._is_at_hand = self.kernels.learn_row(self.shortcut, x, target, w) == 0
        if not self._is_at_hand:
            self._learn_slowly(x, target, w)

    def _learn_slowly(self, x: Mapping[Hashable, Any], target: float, w: float) -> None:
        # A value may be an object whose __float__ calls this model: all are read before anything is looked up.
        values = feature_values(x)
        with self:
            known = len(self.features)
            columns, row = enter_row(values, self.features, learn=True)
            self._make_room()
            learn = learn_sparse_row(self.program)
            status = learn(address_of(self.memory), address_of(columns), address_of(row), len(row), target, float(w))
            if status != 0:
                column, value = find_fault(columns, row, status)
                name = feature_name(self.features, column)
                self.features.truncate(known)
                raise refuse_value(status, name, value)
            self._remember_row(x, columns)

    def row_at_hand(self, x: Mapping[Hashable, Any]) -> tuple[NDArray[np.int64] | None, NDArray[np.float64]]:
        """Return columns (None for the first ones) and values of the row that was just learned, absent values as 0."""
        if self._is_at_hand:
            return self._columns, self.memory[layout.HEADER : layout.HEADER + len(self._names)]
        return read_row(x, self.features, learn=False)

    def score(self, x: Mapping[Hashable, Any]) -> float:
        """Return the score of one row."""
        score = self.kernels.score_row(self.shortcut, x)
        return score if score - score == 0.0 else self.score_slowly(x)

    def score_slowly(self, x: Mapping[Hashable, Any]) -> float:
        """Return the score of a row that the fast way leaves: an absent value makes its score NaN, for one."""
        if self.shortcut is not NOWHERE and x.keys() == set(self._names):
            self._scored += 1
            if self._scored > 1:
                self.kernels = row_kernels(self.program, self.kernels.learns, True)
        columns, values = read_row(x, self.features, learn=False)
        memory = self.memory
        check_columns(memory, int(columns.max(initial=-1)))
        if self.shortcut is NOWHERE and not self._lock.locked():
            self._remember_scored(x, columns)
        run = score_sparse_row(self.program)
        score = run(address_of(memory), address_of(columns), address_of(values), len(columns))
        return score if self.program.scores == 1 else score[0]

    def room_for_scores(self, rows: int) -> NDArray[np.float64]:
        """Return room for the scores of some rows: one number each, or a row of a matrix."""
        return np.empty(rows if self.program.scores == 1 else (rows, self.program.scores))

    @property
    def weights(self) -> dict[Hashable, float]:
        """What was learned, by feature name."""
        values = self.weight_vector()[: len(self.features)].tolist()
        if self.features.grows:
            # Not as many, if another thread is learning: a name comes before the room for its weight.
            return dict(zip(self.features.names, values, strict=False))
        untouched = self.initial[0] - self._balance
        return {self.features.name_of(column): value for column, value in enumerate(values) if value != untouched}

    @property
    def _balance(self) -> float:
        """What a weight of the second vector starts with: not 0 where weights are the difference of both."""
        return self.initial[1] if len(self.initial) > 1 else 0.0

    def weight_vector(self) -> NDArray[np.float64]:
        """Return the weights that scores are made with, by column."""
        memory = self.memory
        v, u = layout.vector_v(memory), layout.vector_u(memory)
        if self._balance:
            return v - u
        if memory[layout.AVERAGED] and memory[layout.STEPS]:
            return (memory[layout.SCALE_SUM] * v - u) / memory[layout.STEPS]
        return memory[layout.SCALE] * v

    @property
    def intercept(self) -> float:
        """The constant feature's weight."""
        memory = self.memory
        v, u = memory[layout.V_INTERCEPT], memory[layout.U_INTERCEPT]
        if self._balance:
            return float(v - u)
        if memory[layout.AVERAGED] and memory[layout.STEPS]:
            return float((memory[layout.SCALE_SUM] * v - u) / memory[layout.STEPS])
        return float(memory[layout.SCALE] * v)

    def state_dict(self) -> dict[str, Any]:
        """Return everything that was learned, as arrays and JSON."""
        before = self._moment()
        memory, names = self.memory.copy(), self.features.state_dict()
        if self._moment() != before or self._lock.locked():
            raise changed_meanwhile()
        capacity = int(memory[layout.CAPACITY])
        # The row at hand is no part of what was learned, and would differ between runs that learned the same.
        memory[layout.HEADER : layout.HEADER + capacity] = 0.0
        memory[[layout.ROW_LENGTH, layout.TICKET, layout.BUSY]] = 0.0
        return {"memory": memory, **{f"features.{k}": v for k, v in names.items()}}

    def _moment(self) -> tuple[int, int, float]:
        """Return what tells whether something was learned between two moments."""
        memory = self.memory
        return id(memory), len(self.features), float(memory[layout.STEPS])

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
        capacity = int(memory[layout.CAPACITY])
        counts = {layout.STEPS: MOST_ROWS, layout.MISTAKES: MOST_ROWS, layout.UPDATES: MOST_ROWS}
        counts[layout.SEEN] = capacity if self.program.prepare is not None else MOST_ROWS
        check_numbers("memory", memory, self.memory, counts=counts, positive=(layout.SCALE,))
        memory[[layout.ROW_LENGTH, layout.TICKET, layout.BUSY]] = 0.0
        with self:
            self.features = features
            self._replace(memory)
