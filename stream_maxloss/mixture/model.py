"""The mixture as a model: a feature map and a memory, fed with dicts or frames."""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Callable, Hashable, Mapping
from functools import wraps
from operator import itemgetter
from threading import RLock
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.linear.batch_checks import check_length
from stream_maxloss.linear.faults import check_rows
from stream_maxloss.mixture import fields as f
from stream_maxloss.mixture.experts import LEVELS
from stream_maxloss.mixture.growing import FIRST_ROWS, FirstRows, check_first_rows, grow, next_event
from stream_maxloss.mixture.hard import values_kept
from stream_maxloss.mixture.history import History
from stream_maxloss.mixture.memory import Memory
from stream_maxloss.mixture.names import BoundedFeatureMap
from stream_maxloss.mixture.passes import ANSWER, LEARN, RECALL, run_rows
from stream_maxloss.mixture.reasons import Reason, reasons_of
from stream_maxloss.mixture.state import check_arrays, saved_arrays
from stream_maxloss.rows import Rows, read_frame, read_row
from stream_maxloss.state import join_parts, part_of

__all__ = ["Batch", "MixtureModel", "alone"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Method = TypeVar("Method", bound=Callable[..., Any])


class Batch:
    """Rows as one sparse matrix in CSR form, or as a matrix whose rows share their columns; NaN marks an absent value.

    Parameters
    ----------
    stretches
        The rows as they were read.

    """

    def __init__(self, stretches: list[Rows]) -> None:
        self.indptr: Integers | None = None
        if len(stretches) == 1 and stretches[0].indptr is None:
            (rows,) = stretches
            self.length = len(rows.values)
            self.columns: Integers = np.ascontiguousarray(rows.columns, dtype=np.int64)
            self.values: Floats = np.ascontiguousarray(rows.values, dtype=np.float64).reshape(-1)
            return
        parts = [sparse(rows) for rows in stretches]
        lengths = [np.diff(indptr) for indptr, _, _ in parts]
        self.indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
        self.length = len(self.indptr) - 1
        self.columns = np.concatenate([columns for _, columns, _ in parts])
        self.values = np.concatenate([values for _, _, values in parts])

    def __len__(self) -> int:
        return self.length

    @property
    def longest(self) -> int:
        """Entries of the longest row."""
        return len(self.columns) if self.indptr is None else int(np.diff(self.indptr).max(initial=0))

    def present(self, row: int) -> tuple[Integers, Floats]:
        """Return the columns and values of a row that are not absent."""
        if self.indptr is None:
            width = len(self.columns)
            return present(self.columns, self.values[row * width : (row + 1) * width])
        part = slice(int(self.indptr[row]), int(self.indptr[row + 1]))
        return present(self.columns[part], self.values[part])


def sparse(rows: Rows) -> tuple[Integers, Integers, Floats]:
    """Return (indptr, columns, values) of some rows."""
    if rows.indptr is not None:
        return rows.indptr - rows.indptr[0], rows.columns, rows.values
    length, width = rows.values.shape
    indptr = np.arange(length + 1, dtype=np.int64) * width
    return indptr, np.tile(rows.columns, length), rows.values.reshape(-1)


def present(columns: Integers, values: Floats) -> tuple[Integers, Floats]:
    """Return a row without its absent values."""
    is_present = ~np.isnan(values)
    return columns[is_present], values[is_present]


def alone(method: Method) -> Method:
    """Let one thread at a time into a method: an array that grows must not be left behind in another one's table."""

    @wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self.lock:
            return method(self, *args, **kwargs)

    return cast(Method, guarded)


class MixtureModel:
    """State and calls that the classifier and the regressor share.

    Parameters
    ----------
    kind
        What is predicted, from `stepping`.
    memory
        Rows that are kept.
    compute
        How much is computed per row, a key of `LEVELS`.
    seed
        Seed of all draws.

    """

    def __init__(self, kind: int, memory: int, compute: str, seed: int | None) -> None:
        self.features = BoundedFeatureMap()
        self.memory = Memory(LEVELS[compute], memory, kind, seed)
        self.first_rows: FirstRows = []
        self.history = History(len(self.memory["prior"]))
        self.event = next_event(self.memory)
        # Reentrant: a value's own __float__ may ask the model that is reading it.
        self.lock = RLock()
        self._forget_names()

    def _forget_names(self) -> None:
        # The row at hand, and how to pick and pack the values of the next one if it has the same names.
        self.columns, self.values = np.empty(0, dtype=np.int64), array("d")
        self.pick: Callable[[Any], tuple[Any, ...]] | None = None
        self.pack: Callable[..., None] = struct.pack_into
        self.is_packing = False
        # Columns of an answer.
        self.width = max(2, self.memory.outputs)
        # Of a single row: its answer, target and weight.
        self.one = np.empty((1, 2)), np.empty(1), np.empty(1)
        self.memory.rows_at_hand = None
        self.room = 0

    def __getstate__(self) -> dict[str, Any]:
        names = ("features", "memory", "first_rows", "history")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.lock = RLock()
        self.event = next_event(self.memory)
        self._forget_names()

    def add_outputs(self, classes: int) -> None:
        """Make room for so many classes."""
        self.memory.add_outputs(classes)
        self.width = max(2, classes)

    def read_one(self, x: Mapping[Hashable, Any], learn: bool) -> None:
        """Read a row into `values`, and set `columns` to match; what is absent is left out."""
        if self.pick is not None and type(x) is dict and len(x) == len(self.values) and not self.is_packing:
            values, self.is_packing = self.values, True
            try:
                numbers = self.pick(x)
                total = sum(numbers)
                self.pack(values, 0, *numbers)
            except (KeyError, TypeError, struct.error):
                total = math.nan
            finally:
                self.is_packing = False
            # NaN and infinity make the sum one of them, and go the long way; so does a row whose values' own __float__
            # has meanwhile shown this model another row.
            if math.isfinite(total) and self.values is values:
                return
        columns, given = read_row(x, self.features, learn)
        self.columns, self.values = np.ascontiguousarray(columns, dtype=np.int64), array("d", given.tobytes())
        names = {self.features.find(name): name for name in x}
        # Entries come in the order of columns, so that every sum is taken in the same order at both speeds.
        self.pick = None
        if len(names) == len(x) == len(columns) > 1 and names.keys() == set(columns.tolist()):
            self.pick = itemgetter(*(names[column] for column in columns.tolist()))
            self.pack = struct.Struct(f"{len(columns)}d").pack_into
        # Room is made before the row is learned, or for a longer one than any so far.
        self.room = 0
        self.memory.rows_at_hand = None
        if not learn:
            self.memory.make_room(1, len(columns), 0)

    def _take_one(self) -> None:
        """Let the next call be about the row that `read_one` has just read."""
        memory = self.memory
        if memory.rows_at_hand is not self.one:
            if self.one[0].shape[1] != self.width:
                self.one = np.empty((1, self.width)), np.empty(1), np.empty(1)
            answers, targets, weights = self.one
            rows = {"columns": self.columns, "values": np.frombuffer(self.values)}
            memory.take_rows(self.one, indptr=None, **rows, targets=targets, weights=weights, answers=answers)

    def answer_one(self, x: Mapping[Hashable, Any]) -> Floats:
        """Return the probability of each class for one row, as a matrix of one row that the next call overwrites."""
        self.read_one(x, learn=False)
        self._take_one()
        run_rows(self.memory.table, ANSWER, 0, 1)
        return self.one[0]

    def explain_one(self, x: Mapping[Hashable, Any], output: int) -> list[Reason]:
        """Return what the score of an output is made of, the largest part first."""
        self.answer_one(x)
        return self.reasons(output, dict(zip(self.columns.tolist(), self.values, strict=True)))

    def recall(self, slot: int) -> tuple[Floats, dict[int, float]]:
        """Return what the mixture says now of a kept row, and the value of each of its columns."""
        answers = np.empty((1, self.width))
        self.memory.take_rows(answers, answers=answers)
        run_rows(self.memory.table, RECALL, slot, slot + 1)
        self.memory.let_go()
        return answers[0], values_kept(self.memory, slot, len(self.features))

    def reasons(self, output: int, values: dict[int, float]) -> list[Reason]:
        """Return what the score of an output is made of, for the row that was answered last."""
        all_names = self.features.names
        columns = [*values, *np.flatnonzero(self.memory["place"] >= 0).tolist()]
        names = {column: all_names[column] for column in columns}
        return reasons_of(self.memory, output, names, values)

    def learn_one(self, target: float, w: float) -> None:
        """Learn the row that was just read by `read_one`."""
        memory = self.memory
        rows = memory.rows
        if rows >= self.room:
            memory.make_room(len(self.features), len(self.columns), 1)
            self.room = memory.room
        self._take_one()
        _, targets, weights = self.one
        targets[0] = target
        weights[0] = w
        if rows < FIRST_ROWS:
            self.first_rows.append(present(self.columns, np.array(self.values)))
        run_rows(memory.table, LEARN, 0, 1)
        if rows + 1 == self.event:
            self._grow()

    def _grow(self) -> None:
        """Do what is due after the last row."""
        memory = self.memory
        grow(memory, self.first_rows)
        self.history.add(memory.rows, memory["prior"])
        self.event = next_event(memory)
        if memory.rows >= FIRST_ROWS:
            self.first_rows = []

    def read_many(self, frame: Any, learn: bool) -> Batch:
        """Return the rows of a frame.

        Raises
        ------
        ValueError
            If a value is infinite. The feature map is then as before.

        """
        known = len(self.features)
        try:
            stretches = list(read_frame(frame, self.features, learn))
            check_rows(stretches, self.features, unit=False)
        except Exception:
            self.features.truncate(known)
            raise
        return Batch(stretches)

    def answer_many(self, frame: Any) -> Floats:
        """Return the probability of each class for each row of a frame."""
        batch = self.read_many(frame, learn=False)
        self.memory.make_room(1, batch.longest, 0)
        answers = np.empty((len(batch), self.width))
        self._take_many(batch, answers=answers)
        run_rows(self.memory.table, ANSWER, 0, len(batch))
        self.memory.let_go()
        return answers

    def _take_many(self, batch: Batch, **others: Floats) -> None:
        """Let the next call be about some rows."""
        if self.memory.rows_at_hand is not batch:
            self.memory.take_rows(batch, indptr=batch.indptr, columns=batch.columns, values=batch.values, **others)

    def learn_many(self, batch: Batch, targets: Floats, weights: Floats, outputs: Integers) -> Floats:
        """Answer, then learn, each row.

        Parameters
        ----------
        batch
            The rows.
        targets
            What came: the number of a class, or a number.
        weights
            Sample weights.
        outputs
            How many scores an expert has from each row on: rows of new classes raise it.

        """
        check_length(len(batch), targets)
        self.memory.make_room(len(self.features), batch.longest, len(batch))
        answers = np.zeros((len(batch), max(2, int(outputs.max(initial=1)))))
        given = {"targets": targets, "weights": weights, "answers": answers}
        changes = np.flatnonzero(np.diff(outputs, prepend=self.memory.outputs)).tolist()
        # A row of a new class is answered before there is a score for it, as `predict_one` would.
        before = {}
        first = 0
        for last in [*changes, len(batch)]:
            self._learn(batch, given, first, last)
            if last < len(batch):
                self._take_many(batch, **given)
                run_rows(self.memory.table, ANSWER, last, last + 1)
                before[last] = answers[last].copy()
                self.add_outputs(int(outputs[last]))
            first = last
        for row, said in before.items():
            answers[row] = said
        self.memory.let_go()
        return answers

    def _learn(self, batch: Batch, given: dict[str, Floats], first: int, last: int) -> None:
        """Learn rows first..last, and do what is due on the way."""
        memory = self.memory
        while first < last:
            stop = min(last, first + self.event - memory.rows)
            if memory.rows < FIRST_ROWS:
                self.first_rows += [batch.present(row) for row in range(first, stop)]
            self._take_many(batch, **given)
            run_rows(memory.table, LEARN, first, stop)
            first = stop
            if memory.rows == self.event:
                self._grow()

    @property
    def memory_bytes(self) -> int:
        """Bytes held, without the names of the features."""
        return self.memory.nbytes

    @property
    def n_rows(self) -> int:
        """Rows learned."""
        return int(self.memory["header"][f.ROWS])

    @alone
    def state_dict(self) -> dict[str, Any]:
        """Return everything that was learned, as arrays and JSON."""
        columns, values = ([row[part] for row in self.first_rows] for part in (0, 1))
        return {
            **saved_arrays(self.memory),
            "first.lengths": np.array([len(row) for row in columns], dtype=np.int64),
            "first.columns": np.concatenate([np.empty(0, dtype=np.int64), *columns]),
            "first.values": np.concatenate([np.empty(0), *values]),
            **join_parts({"features": self.features.state_dict(), "history": self.history.state_dict()}),
        }

    @alone
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned.

        Raises
        ------
        KeyError
            If something is missing.
        ValueError
            If the state is not one of a model with the same parameters. The model is then unchanged.

        """
        arrays = check_arrays(state, self.memory)
        features = BoundedFeatureMap(self.features.limit)
        features.load_state_dict(part_of(state, "features"))
        if not len(features) <= min(len(arrays["place"]), features.limit):
            raise ValueError(f"state must have room for its {len(features)} features, got {len(arrays['place'])}")
        first_rows = check_first_rows(part_of(state, "first"), int(arrays["header"][f.ROWS]), len(features))
        history = History(len(arrays["prior"]))
        history.load_state_dict(part_of(state, "history"), int(arrays["header"][f.ROWS]))
        self.features, self.first_rows, self.history = features, first_rows, history
        self.memory.take(arrays)
        self.event = next_event(self.memory)
        self._forget_names()
