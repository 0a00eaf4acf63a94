"""One model over one source: read a batch of rows, predict, score, learn, write down what was predicted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stream_maxloss.errors import CheckpointError, UsageError
from stream_maxloss.evaluate import Engine, Loop, RowBatch, Scored
from stream_maxloss.evaluate.engine import runs_in_kernel
from stream_maxloss.keyed import Keyed
from stream_maxloss.run.certificate import certified_part
from stream_maxloss.run.columns import Columns
from stream_maxloss.run.feed import BATCH_ROWS, RowFeed
from stream_maxloss.run.late_labels import LOOK_ROWS, LateLabels
from stream_maxloss.run.lifetime import parse_lifetime
from stream_maxloss.run.origins import Origins, remembering_part
from stream_maxloss.run.predictions import PredictionRows, carried, require_free_names
from stream_maxloss.run.scoreboard import Scoreboard
from stream_maxloss.run.store import find_difference, saved_intake
from stream_maxloss.run.target import Target, label_kind
from stream_maxloss.run.task import HEAD_ROWS
from stream_maxloss.run.texts import TextValues

if TYPE_CHECKING:
    import pyarrow as pa

    from stream_maxloss.intake import Intake
    from stream_maxloss_connectors import BadRecords, Sink, Source

__all__ = ["Session"]


class Session:
    """One model over one source: owns what a checkpoint has to hold.

    The caller opens source and sink (anew, or at the positions of a checkpoint), then calls `step` until `finished`.
    Between two steps everything fits together: model, scores, counters, `source.position()` and what was written.
    `Tail` does all of that.

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
    task
        What the target is, as `find_task` says: `binary`, `class` or `number`; None for what the model takes.
    learn
        Whether to learn, or only to predict.
    delay
        Rows between a prediction and its label; 0 for none.
    labels
        An opened source of labels that come later, joined with their rows by key; None where rows have their own.
    label_ttl
        How long a row waits for its label: `100000` rows, or `7d`, `12h`, `30m`, `45s` by the rows' own time.
    predictions
        An opened sink for predictions, or None.
    limit
        Most rows to read, those before a resume included; None for no limit.
    label_type
        Arrow type of labels in the predictions, where rows have no label to show it.
    min_support
        Rows that a slice needs to be called the worst.
    patient
        Whether to wait for full batches: right for files, which have all their rows at once, and wrong for what
        trickles.
    texts
        Which values of text columns are kept apart, and how many; None for the first 65,536 of each column.
    intake
        What turns columns into features; None for an `Intake` that decides by itself.
    head
        The first rows of the source, for it to decide from; None: it decides from the first batch.

    Examples
    --------
    >>> from stream_maxloss.linear import Perceptron
    >>> from stream_maxloss.run import Columns, Session, make_metrics
    >>> from stream_maxloss_connectors import BadRecords
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
        task: str | None = None,
        learn: bool = True,
        delay: int = 0,
        labels: Source | None = None,
        label_ttl: str = "100000",
        predictions: Sink | None = None,
        limit: int | None = None,
        label_type: pa.DataType | None = None,
        min_support: int = 30,
        patient: bool = False,
        texts: TextValues | None = None,
        intake: Intake | None = None,
        head: pa.RecordBatch | None = None,
    ) -> None:
        kind = label_kind(model) if task is None else task
        if predictions is not None:
            require_free_names(columns)
        if learn and columns.slice_by is None and getattr(model, "takes_slices", False):
            raise UsageError(
                "policy='slices' must come with a column of slices, got none; add --slice-by COLUMN (slice_by=...)"
            )
        if isinstance(model, Keyed):
            columns = replace(columns, model_per=str(model.key))
        self.model = model
        self.source = source
        self.columns = columns
        self.bad_records = bad_records
        self.predictions = predictions
        self.limit = limit
        self.label_type = label_type
        self.patient = patient
        self.rows = 0
        self.carries_places = True  # not where predictions were begun without the place and key of messages
        self.unlabelled = 0  # rows that were predicted and not learned, because they had no label
        self.should_stop: Callable[[], bool] = lambda: False
        target = None if columns.target is None else Target(columns.target, kind, positive)
        self._late_target = None if labels is None else target
        read = target if labels is None else None
        # Words are for our learners; other models may have their own way with text.
        self.feed = RowFeed(
            source, columns, read, bad_records, texts, learn, intake, head, find_text=runs_in_kernel(model)
        )
        self.board = Scoreboard(metrics, kind != "number", columns.slice_by, min_support)
        self.loop = Loop(
            Engine(model, labels=self.board.asks_labels, by_class=kind == "class"),
            self.board,
            learn=learn and labels is None,
            delay=delay,
        )
        self.late: LateLabels | None = None
        if labels is not None and target is not None:
            lifetime = parse_lifetime(label_ttl, columns.time)
            self.late = LateLabels(labels, columns, target, lifetime, self.loop.engine, self.board, bad_records)
        self._certifying = certified_part(model) if learn else None
        part = remembering_part(model) if learn and not delay else None
        self.origins = None if part is None else Origins(part, columns)
        if self.late is not None:
            self.late.on_learned = self._remember
        self._row_form: dict[str, Any] = {"schema": None, "features": [], "label_type": None}
        self._writer: PredictionRows | None = None

    @property
    def finished(self) -> bool:
        """Whether the source is at its end, the limit is reached, or the model has its certificate."""
        if self._certifying is not None and self._certifying.ready:
            return True
        if self.limit is not None and self.rows >= self.limit:
            return True
        return self.source.exhausted and (self.late is None or self.late.is_done)

    @property
    def target(self) -> Target | None:
        """How labels are read."""
        return self.feed.target if self.late is None else self._late_target

    @property
    def learned(self) -> int:
        """Rows learned."""
        return self.loop.learned

    def step(self, cut_at: int | None = None, timeout: float = 0.2) -> int:
        """Read, predict, score and learn some rows; return how many.

        Parameters
        ----------
        cut_at
            Row count to stop at, before the end of the batch.
        timeout
            Seconds to wait for rows.

        """
        if self.feed.must_look_ahead:
            cut_at, timeout = None if cut_at is None else max(cut_at, HEAD_ROWS), max(timeout, 1.0)
        if self.late is not None and (self.late.is_due(self.rows) or self.source.exhausted):
            self._look(timeout)
        batch = self.feed.next(self._room(cut_at), timeout, self.patient, self.should_stop)
        if batch is None or not len(batch):
            if self.source.waits:
                self._look(0.0)
            return 0
        return self.take(batch)

    def take(self, batch: RowBatch) -> int:
        """Predict, score and learn rows that were read; return how many the model took."""
        if self.target is not None:  # which may know from its first labels on
            self.loop.engine.by_class = self.target.kind == "class"
        before = self.rows
        said: list[pa.RecordBatch] = []
        for stretch in batch.runs():
            part, scored = self.loop.run(stretch, self.bad_records.handle)
            if self.late is not None:
                self.late.wait(part, scored, self.rows)
            elif part.y is not None:
                self._remember(part)
            if self.predictions is not None:
                said.append(self._prediction_rows(scored, part))
            self.rows += len(part)
            self.unlabelled += len(part) if part.y is None and self.feed.target is not None else 0
        if self.predictions is not None:
            import pyarrow as pa

            self.predictions.write(said[0] if len(said) == 1 else pa.concat_batches(said))
        return self.rows - before

    def _look(self, timeout: float) -> None:
        """Learn rows whose labels have come from elsewhere."""
        if self.late is not None:
            wait = timeout if not self.late.source.waits or self.source.exhausted else 0.0
            self.loop.learned += self.late.look(self.rows, wait, self.source.exhausted)

    def _remember(self, batch: RowBatch) -> None:
        """Keep where rows that were just learned came from."""
        if self.origins is not None:
            learned = self.learned if self.late is None else self.late.counts["joined"]
            self.origins.add(batch, learned - len(batch))

    def finish(self) -> None:
        """Learn and score what still waits for its label, at the end of the source."""
        for _ in self.loop.finish(self.bad_records.handle):
            pass

    def state_dict(self) -> dict[str, Any]:
        """Return scores, counters, waiting rows and the form of the rows; model, source and sinks have their own."""
        state = {"rows": self.rows, "learned": self.learned, "board": self.board.state_dict()}
        state |= {"intake": self.feed.intake.state_dict(), "unlabelled": self.unlabelled}
        state |= {"row_form": self.row_form(), "seen_positive": self.target is not None and self.target.seen_positive}
        state["texts"] = self.feed.texts.state_dict()
        if self.target is not None and self.target.mark is not None:
            state["label_mark"] = self.target.mark
        if self.loop.delayed is not None:
            state["delayed"] = self.loop.delayed.state_dict()
        if self.late is not None:
            state["late"] = self.late.state_dict()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` of an equally configured session returned."""
        self.rows, self.loop.learned = int(state["rows"]), int(state["learned"])
        self.board.load_state_dict(state["board"])
        if self.loop.delayed is not None:
            self.loop.delayed.load_state_dict(state["delayed"])
        self.feed.texts.load_state_dict(state.get("texts"))
        if self.late is not None:
            self.late.load_state_dict(state["late"])
        if self.origins is not None:
            self.origins.load(state.get("origins"))
        self._row_form = state["row_form"]
        self.unlabelled = int(state.get("unlabelled") or 0)
        self._load_intake(state.get("intake"))
        self.feed.learned_features = self._row_form["features"] or None
        if self.target is not None:
            self.target.seen_positive = bool(state.get("seen_positive"))
            self.target.mark = "," if state.get("label_mark") == "," else "." if state.get("label_mark") else None

    def _load_intake(self, saved: Any) -> None:
        asked = self.feed.intake.wishes
        self.feed.intake = saved_intake(saved)
        difference = find_difference(self.feed.intake.wishes, {**self.feed.intake.wishes, **asked}, "types")
        if difference is not None:
            raise CheckpointError(
                f"the checkpoint was learned with {difference[0]} {difference[1]}, and now it is {difference[2]}; "
                "leave --dates, --text and --schema as they were, or start over with --fresh (fresh=True)"
            )

    def row_form(self) -> dict[str, Any]:
        """Return what rows look like: all columns with their types, the features, and the type of labels."""
        schema = self.feed.schema
        if schema is not None:  # else no row has come in this process, and what the checkpoint before said still holds
            self._row_form = {
                "schema": [[field.name, str(field.type)] for field in schema],
                "features": list(self.feed.features),
                "label_type": str(self._label_type(self.loop.engine.is_classifier)),
            }
        return self._row_form

    def _label_type(self, is_classifier: bool) -> pa.DataType:
        """Return the Arrow type of labels; of those from elsewhere it must be known before they come."""
        if self.late is None or not is_classifier:
            return self.feed.label_type(is_classifier)
        import pyarrow as pa

        return (
            pa.string() if self.late.target.kind in ("class", "any") and not self.late.target.positive else pa.bool_()
        )

    def _room(self, cut_at: int | None) -> int:
        size = BATCH_ROWS if self.late is None else LOOK_ROWS
        ends = [(self.rows // size + 1) * size]
        if self._certifying is not None:
            # No sooner can the certificate come, so that the rows end with the one that earns it.
            ends.append(self.rows + self._certifying.rows_to_go)
        ends += [end for end in (cut_at, self.limit) if end is not None and end > self.rows]
        return min(ends) - self.rows

    def _prediction_rows(self, scored: Scored, batch: RowBatch) -> pa.RecordBatch:
        if self._writer is None:
            is_classifier = self.loop.engine.is_classifier
            kind = self.label_type or self._label_type(is_classifier)
            by_class = self.loop.engine.by_class or scored.classes is not None
            self._writer = PredictionRows(kind, is_classifier, self.feed.target is not None, by_class)
        batch = batch if self.carries_places else replace(batch, places=None)
        return self._writer.make(self.rows, scored, batch.y, carried(batch, self.columns))
