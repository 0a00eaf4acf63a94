"""Labels that another source brings later, by key: rows are predicted now and learned when their label comes."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_maxloss.described import check_count, check_name, check_time
from stream_maxloss.errors import DecodeError
from stream_maxloss.evaluate import Engine, Loop, RowBatch, Scored
from stream_maxloss.run.columns import Columns, MissingColumnError
from stream_maxloss.run.lifetime import Lifetime, seconds_of
from stream_maxloss.run.predictions import as_key, plain
from stream_maxloss.run.waiting_rows import WaitingRow, WaitingRows, features_of, one_batch

if TYPE_CHECKING:
    from stream_maxloss.evaluate.loop import Board
    from stream_maxloss.run.target import Target
    from stream_maxloss_connectors import BadRecords, Batch, Source

__all__ = ["LateLabels"]

LOOK_ROWS = 1024
"""Labels are looked at after so many rows, counted from the first of the run, and as many are read at a time."""

SETTLED = 20_000
"""Keys that are remembered after their row was learned, to tell a second label from one of an unknown row."""


@dataclass(frozen=True)
class LateLabel:
    """A label that has come: its key, its value, the time from which it holds, and when it came."""

    key: str
    label: Any
    time: float | None
    rows: int
    clock: float | None


class Nobody:
    """A board that takes no scores: what counts is what was said when the row came."""

    def add(self, scored: Scored, slices: Any = None) -> None:
        """Do nothing."""


class LateLabels:
    """Joins the labels of a source with rows that wait for them.

    A label goes to the row of its key that has waited longest, which is then scored by what was said of it when it
    came, and learned, in the order of the labels. A label that comes before its row waits for it. Where the labels have
    the rows' column of time, a label holds only from its time on, by the time of the newest row.

    Parameters
    ----------
    source
        An opened source of labels, with the columns of the key and the target.
    columns
        Which column is what.
    target
        How labels are read.
    lifetime
        How long rows wait for labels, and labels for rows.
    engine
        Runs the model.
    board
        Takes the scores.
    bad_records
        Where labels that cannot be used go.

    """

    def __init__(
        self,
        source: Source,
        columns: Columns,
        target: Target,
        lifetime: Lifetime,
        engine: Engine,
        board: Board,
        bad_records: BadRecords,
    ) -> None:
        self.source = source
        self.columns = columns
        self.target = target
        self.engine = engine
        self.board = board
        self.bad_records = bad_records
        self.waiting = WaitingRows(lifetime)
        self.counts: Counter[str] = Counter(joined=0, expired=0, unknown=0, doubled=0)
        self.clock: float | None = None
        self.looked_at = 0
        self.on_learned: Callable[[RowBatch], None] = lambda batch: None
        self._learner = Loop(engine, Nobody())
        self._future: deque[LateLabel] = deque()  # read, and not yet valid by the rows' time
        self._early: OrderedDict[str, LateLabel] = OrderedDict()
        self._matched: dict[str, None] = {}  # keys of early labels whose rows have come since
        self._settled: OrderedDict[str, None] = OrderedDict()

    def is_due(self, rows: int) -> bool:
        """Return whether labels are to be looked at, at a row count."""
        return rows >= self.looked_at + LOOK_ROWS

    @property
    def is_done(self) -> bool:
        """Whether every label there is has been taken."""
        return self.source.exhausted and not self._future and not self._matched

    def summary(self) -> dict[str, int]:
        """Return how many labels were joined, expired, unknown or doubled, and how many rows and labels wait."""
        return {**self.counts, "waiting": len(self.waiting), "early": len(self._early) + len(self._future)}

    def wait(self, batch: RowBatch, scored: Scored, first: int) -> None:
        """Let rows wait that were just predicted, of which the first has a number."""
        records, columns = batch.records, self.columns
        keys = key_texts(records.column(str(columns.key)), str(columns.key))
        times = None if columns.time is None else seconds_of(plain(records.column(columns.time)), columns.time)
        for place, (key, answer) in enumerate(zip(keys, answers_of(scored), strict=True)):
            if key is None:  # no label can ever name it
                self.counts["expired"] += 1
                continue
            weight = None if batch.w is None else float(batch.w[place])
            value = None if batch.slices is None else batch.slices[place]
            time = None if times is None or math.isnan(times[place]) else float(times[place])
            address = _later(batch.address, place)
            self.waiting.add(WaitingRow(first + place, key, weight, value, time, answer, batch.X, place, address))
            if key in self._early:
                self._matched[key] = None
        known = () if times is None else times[~np.isnan(times)]
        if len(known):
            self.clock = max(float(np.max(known)), -math.inf if self.clock is None else self.clock)

    def look(self, rows: int, timeout: float, drain: bool) -> int:
        """Read some labels, learn the rows that they are for, and give up what has waited too long.

        Parameters
        ----------
        rows
            Rows of the run so far.
        timeout
            Seconds to wait for labels.
        drain
            Whether the rows have ended, so that every label holds by now.

        Returns
        -------
        int
            How many rows were learned.

        """
        self.looked_at = rows
        ready = [(self._take(key), self._early.pop(key)) for key in self._matched]
        self._matched = {}
        for label in self._read(rows, timeout, drain):
            if label.key in self.waiting:
                ready.append((self._take(label.key), label))
            elif label.key in self._settled or label.key in self._early:
                self.counts["doubled"] += 1
            else:
                self._early[label.key] = label
        learned = self._learn(ready) if ready else 0
        self.counts["expired"] += self.waiting.expire(rows, self.clock)
        self._forget_early(rows)
        return learned

    def _read(self, rows: int, timeout: float, drain: bool) -> Iterable[LateLabel]:
        missing = LOOK_ROWS
        while missing > 0 and not self.source.exhausted and (drain or not self._is_ahead()):
            batch = self.source.next_batch(missing, timeout)
            if batch is None:
                if self.source.waits:
                    break
                continue
            missing -= batch.num_rows
            self._future.extend(self._decode(batch, rows))
        while self._future and (drain or not self._is_ahead()):
            yield self._future.popleft()

    def _is_ahead(self) -> bool:
        """Return whether the next label holds only later, by the time of the rows."""
        time = self._future[0].time if self._future else None
        return time is not None and (self.clock is None or time > self.clock)

    def _decode(self, batch: Batch, rows: int) -> Iterable[LateLabel]:
        records, columns = batch.records, self.columns
        for role, name in (("key", columns.key), ("target", columns.target)):
            if name not in records.schema.names:
                raise MissingColumnError(f"labels: {role}", str(name), records.schema.names)
        self.target.settle(records.column(self.target.name))
        labels, bad = self.target.read(records.column(self.target.name), batch.address)
        keys = key_texts(records.column(str(columns.key)), str(columns.key))
        nulls = np.asarray(records.column(self.target.name).is_null().to_numpy(zero_copy_only=False))
        nulls = nulls if self.target.mark is None else np.isnan(labels)
        times: NDArray[np.float64] | None = None
        if columns.time in records.schema.names:
            times = seconds_of(plain(records.column(columns.time)), str(columns.time))
        for place, (key, label) in enumerate(zip(keys, labels.tolist(), strict=True)):
            if place in bad or key is None or nulls[place]:
                what = f"key {columns.key!r}" if key is None else f"target {self.target.name!r}"
                missing = DecodeError(batch.address(place), f"{what} must be present, got null")
                self.bad_records.handle(bad.get(place, missing))
                continue
            time = None if times is None or math.isnan(times[place]) else float(times[place])
            yield LateLabel(key, label, time, rows, self.clock)

    def _learn(self, ready: list[tuple[WaitingRow, LateLabel]]) -> int:
        rows, labels = [row for row, _ in ready], [label.label for _, label in ready]
        X = one_batch(features_of(rows))
        self.engine.by_class = self.target.kind == "class"
        weights = None if rows[0].weight is None else np.array([row.weight for row in rows], dtype=np.float64)
        y, slices = label_column(labels), self._slices_of(rows)
        places = pa.record_batch({"place": np.arange(len(rows))})  # which of them the model takes
        batch = RowBatch(X, y, weights, slices, lambda place: rows[place].address(), records=X, places=places)
        taken, _ = self._learner.run(batch, self.bad_records.handle)
        kept = [] if taken.places is None else taken.places.column(0).to_pylist()
        if kept:
            chosen = [rows[place] for place in kept]
            scored = said_before([row.answer for row in chosen], y[kept])
            self.board.add(scored, taken.slices)
        self.counts["joined"] += len(kept)
        self.on_learned(self._described(taken, [rows[place] for place in kept]))
        return len(kept)

    def _described(self, taken: RowBatch, rows: list[WaitingRow]) -> RowBatch:
        """Return learned rows with key and slice, as `Origins` takes them."""
        names = [*taken.X.schema.names, str(self.columns.key)]
        columns = [*taken.X.columns, pa.array([row.key for row in rows], pa.string())]
        records = pa.RecordBatch.from_arrays(columns, names=names)
        return RowBatch(taken.X, taken.y, taken.w, taken.slices, lambda place: rows[place].address(), records=records)

    def _slices_of(self, rows: list[WaitingRow]) -> NDArray[np.object_] | None:
        if self.columns.slice_by is None:
            return None
        return np.array([*(row.slice for row in rows), None], dtype=object)[:-1]

    def _take(self, key: str) -> WaitingRow:
        """Take the row of a key, and remember that it has had its label."""
        row = self.waiting.take(key)
        self._settled[key] = None
        self._settled.move_to_end(key)
        if len(self._settled) > SETTLED:
            self._settled.popitem(last=False)
        return row

    def _forget_early(self, rows: int) -> None:
        for key, label in list(self._early.items()):
            if not self.waiting.is_over(rows - label.rows, label.clock, self.clock):
                break
            if key not in self._matched:
                del self._early[key]
                self.counts["unknown"] += 1

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the features as plain values, and those as a table under `rows`."""
        known, table = self.waiting.state()
        return {
            "counts": dict(self.counts),
            "clock": self.clock,
            "looked_at": self.looked_at,
            "future": [list(vars(label).values()) for label in self._future],
            "early": [list(vars(label).values()) for label in self._early.values()],
            "matched": list(self._matched),
            "settled": list(self._settled),
            "learned": self._learner.learned,
            "kind": self.target.kind,
            "waiting": known,
            "rows": table,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; raise ValueError if it is something else."""
        self.counts = Counter({str(name): check_count(count) for name, count in state["counts"].items()})
        self.clock = check_time(state["clock"])
        self.looked_at = check_count(state["looked_at"])
        self._future = deque(map(saved_label, state["future"]))
        early = list(map(saved_label, state["early"]))
        self._early = OrderedDict((label.key, label) for label in early)
        self._settled = OrderedDict.fromkeys(map(str, state["settled"]))
        self._learner.learned = check_count(state["learned"])
        if state["kind"] not in ("auto", "binary", "class", "number", "any"):
            raise ValueError(f"labels must be of a kind that there is, got {state['kind']!r:.80}")
        self.target.kind = state["kind"]
        self.waiting.load(state["waiting"], state["rows"])
        self._matched = dict.fromkeys(map(str, state["matched"]))
        if any(key not in self._early or key not in self.waiting for key in self._matched):
            raise ValueError("matched keys must have a label and a row each")


def saved_label(entry: Any) -> LateLabel:
    """Return a label from its plain values, each of a kind that a label can have."""
    key, label, time, rows, clock = entry
    return LateLabel(str(key), check_name(label), check_time(time), check_count(rows), check_time(clock))


def key_texts(column: pa.Array, name: str) -> list[str | None]:
    """Return keys as text, None where there is none; an empty text, which CSV has for a missing one, is none."""
    found: list[str | None] = as_key(plain(column), name).cast(pa.string()).to_pylist()
    return [key or None for key in found]


def answers_of(scored: Scored) -> list[Any]:
    """Return what a model said row by row; where it said it in columns, as pairs of prediction and probability."""
    if scored.answers is not None:
        return list(scored.answers)
    said = [] if scored.y_pred is None else scored.y_pred.tolist()
    shares = [None] * len(said) if scored.probabilities is None else scored.probabilities.tolist()
    return list(zip(said, shares, strict=True))


def said_before(answers: list[Any], y: NDArray[Any]) -> Scored:
    """Return what was said of some rows when they came, with the labels that have come since."""
    if not all(isinstance(answer, list | tuple) for answer in answers):
        return Scored(y.tolist(), None, None, answers)
    said, shares = zip(*answers, strict=True)
    return Scored(y, np.array(said), None if shares[0] is None else np.array(shares, dtype=np.float64))


def label_column(labels: list[Any]) -> NDArray[Any]:
    """Return labels as a model takes them: booleans and numbers in a column of their own type."""
    if all(isinstance(label, bool) for label in labels):
        return np.array(labels, dtype=np.bool_)
    if all(isinstance(label, float) for label in labels):
        return np.array(labels, dtype=np.float64)
    column = np.empty(len(labels), dtype=object)
    column[:] = labels
    return column


def _later(address: Callable[[int], str], place: int) -> Callable[[], str]:
    return lambda: address(place)
