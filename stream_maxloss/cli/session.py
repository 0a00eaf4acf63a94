"""The loop: read a batch of rows, predict, score, learn, and write down where it stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stream_maxloss.cli.certify import certified_part
from stream_maxloss.cli.delayed_rows import DelayedRows
from stream_maxloss.cli.prediction_rows import PredictionRows
from stream_maxloss.cli.row_feed import BATCH_ROWS, Columns, RowBatch, RowFeed
from stream_maxloss.cli.scoreboard import Scoreboard
from stream_maxloss.cli.targets import Target, label_kind
from stream_maxloss.errors import DecodeError
from stream_maxloss.evaluate import Engine, Scored

if TYPE_CHECKING:
    import pyarrow as pa

    from stream_maxloss_connectors.bad_records import BadRecords
    from stream_maxloss_connectors.base import Sink, Source

__all__ = ["Session"]

_REFUSED = re.compile(r" of row (\d+)")


class Session:
    """One model over one source: owns what a checkpoint has to hold.

    The caller opens source and sink (anew, or at the positions of a checkpoint), then calls `step` until `finished`.
    Between two steps everything fits together: model, scores, counters, `source.position()` and what was written.

    Parameters
    ----------
    model
        Any River classifier or regressor.
    source
        An opened source.
    columns
        Which column is what.
    metrics
        A `river.metrics.base.Metrics`, not yet used.
    bad_records
        The policy for rows that cannot be used; the source's own.
    positive
        The value of the target that counts as positive, or None.
    learn
        Whether to learn, or only to predict.
    delay
        Rows between a prediction and its label; 0 for none.
    predictions
        An opened sink for predictions, or None.
    predictions_uri
        What the user called it.
    source_name
        What the user called the source.
    limit
        Most rows to read, those before a resume included; None for no limit.
    label_type
        Arrow type of labels in the predictions, where rows have no label to tell it.
    min_support
        Rows that a slice needs to be called the worst.

    Examples
    --------
    >>> from stream_maxloss.cli.metrics_option import make_metrics
    >>> from stream_maxloss.cli.row_feed import Columns
    >>> from stream_maxloss.cli.session import Session
    >>> from stream_maxloss.linear import Perceptron
    >>> from stream_maxloss_connectors.bad_records import BadRecords
    >>> from stream_maxloss_connectors.testing import MemorySource
    >>> source = MemorySource([{"x": 1.0, "y": True}, {"x": -1.0, "y": False}] * 50)
    >>> source.open()
    >>> model = Perceptron()
    >>> session = Session(model, source, Columns("y"), make_metrics(["accuracy"], model), BadRecords())
    >>> while not session.finished:
    ...     _ = session.step()
    >>> session.rows, session.board.scores()["Accuracy"].total
    (100, 0.99)

    """

    def __init__(
        self,
        model: Any,
        source: Source,
        columns: Columns,
        metrics: Any,
        bad_records: BadRecords,
        *,
        positive: str | None = None,
        learn: bool = True,
        delay: int = 0,
        predictions: Sink | None = None,
        predictions_uri: str = "",
        source_name: str = "",
        limit: int | None = None,
        label_type: pa.DataType | None = None,
        min_support: int = 30,
    ) -> None:
        self.model = model
        self.source = source
        self.columns = columns
        self.bad_records = bad_records
        self.predictions = predictions
        self.predictions_uri = predictions_uri
        self.source_name = source_name
        self.limit = limit
        self.learns = learn
        self.label_type = label_type
        self.row_form: dict[str, Any] = {"schema": None, "features": [], "label_type": None}
        self.rows = 0
        self.learned = 0
        self.patient = False
        self.should_stop: Callable[[], bool] = lambda: False
        target = None if columns.target is None else Target(columns.target, label_kind(model), positive)
        self.feed = RowFeed(source, columns, target, bad_records)
        self.board = Scoreboard(metrics, label_kind(model) != "number", columns.slice_by, min_support)
        self.engine = Engine(model, labels=self.board.asks_labels)
        self.delayed = DelayedRows(self.engine, self.board, delay) if delay else None
        self._certifying = certified_part(model) if learn else None
        self._writer: PredictionRows | None = None

    @property
    def finished(self) -> bool:
        """Whether the source is at its end, the limit is reached, or the model has its certificate."""
        if self._certifying is not None and self._certifying.ready:
            return True
        return self.source.exhausted or (self.limit is not None and self.rows >= self.limit)

    @property
    def target(self) -> Target | None:
        """How labels are read."""
        return self.feed.target

    def step(self, cut_at: int | None = None, timeout: float = 0.2) -> int:
        """Read, predict, score and learn some rows; return how many.

        Parameters
        ----------
        cut_at
            Row count to stop at, before the end of the batch.
        timeout
            Seconds to wait for rows.

        """
        batch = self.feed.next(self._room(cut_at), timeout, self.patient, self.should_stop)
        if batch is None or not len(batch):
            return 0
        batch, scored = self._run(batch)
        if self.predictions is not None:
            self._write(scored, batch)
        self.rows += len(batch)
        return len(batch)

    def finish(self) -> None:
        """Score and learn what still waits for its label, at the end of the source."""
        if self.delayed is not None:
            self.learned += len(self.delayed.waiting)
            self.delayed.settle_all()

    def _room(self, cut_at: int | None) -> int:
        ends = [(self.rows // BATCH_ROWS + 1) * BATCH_ROWS]
        if self._certifying is not None:
            # No sooner can the certificate come, so that the rows end with the one that earns it.
            ends.append(self.rows + self._certifying.rows_to_go)
        ends += [end for end in (cut_at, self.limit) if end is not None and end > self.rows]
        return min(ends) - self.rows

    def _run(self, batch: RowBatch) -> tuple[RowBatch, Scored]:
        if self.delayed is not None:
            settled = len(self.delayed.waiting)
            answers = self.delayed.run(batch)
            self.learned += settled + len(batch) - len(self.delayed.waiting)
            return batch, Scored(batch.y, None, None, answers)  # type: ignore[arg-type]
        if not self.learns:
            scored = self.engine.predict(batch.X, batch.y)
        elif self.engine.is_native:
            batch, scored = self._learn_usable(batch)
        else:
            scored = self.engine.learn(batch.X, batch.y, batch.w)
        if batch.y is not None:
            self.board.add(scored, batch.slices)
        self.learned += len(batch) if self.learns else 0
        return batch, scored

    def _learn_usable(self, batch: RowBatch) -> tuple[RowBatch, Scored]:
        """Learn a batch without the rows that the model refuses; it is unchanged as long as it refuses one."""
        while True:
            try:
                return batch, self.engine.learn(batch.X, batch.y, batch.w)
            except ValueError as error:
                found = _REFUSED.search(str(error))
                if found is None:
                    raise
                row = int(found[1])
                reason = str(error).replace(found[0], "", 1)
                self.bad_records.handle(DecodeError(batch.address(row), reason))
                batch = batch.without([row])

    def _write(self, scored: Scored, batch: RowBatch) -> None:
        if self.predictions is None:
            return
        if self._writer is None:
            kind = self.label_type or self.feed.label_type(self.engine.is_classifier)
            self._writer = PredictionRows(kind, self.engine.is_classifier, self.columns.target is not None)
        self.predictions.write(self._writer.make(self.rows, scored, batch.y))
