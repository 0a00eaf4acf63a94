"""A whole run: source, model, scores, predictions and checkpoints, from wherever the last run stopped."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from stream_maxloss.checkpoint import Content, take_model
from stream_maxloss.errors import StreamMaxlossError, UsageError
from stream_maxloss.evaluate import Progress
from stream_maxloss.keyed import Keyed
from stream_maxloss.run.alerts import Alert, Alerts, parse_condition
from stream_maxloss.run.columns import Columns
from stream_maxloss.run.lifetime import parse_lifetime
from stream_maxloss.run.metrics import is_named, make_metrics, metric_names, metric_texts
from stream_maxloss.run.origins import remembering_part
from stream_maxloss.run.progress import ProgressMeter
from stream_maxloss.run.requests import Requests
from stream_maxloss.run.saved import label_position
from stream_maxloss.run.schedule import Schedule
from stream_maxloss.run.session import Session
from stream_maxloss.run.store import Attachment, RunStore, take_over
from stream_maxloss.run.words import parse_bad_records

if TYPE_CHECKING:
    from stream_maxloss_connectors import BadRecords, Sink, Source

__all__ = ["Tail"]

logger = logging.getLogger("stream_maxloss.run")


class Tail:
    """What `maxloss tail` does: predict, score, then learn every row of a source, exactly once.

    A context manager that opens everything, anew or where the last checkpoint in the directory left it. Iterating runs
    to the end of the source, the limit or a request to stop, and yields progress at each report; `run` does so at once.
    It can be killed at any instant: the next run on the same directory goes on from its last checkpoint, and model,
    scores, predictions and dead letters become those of a run that was never stopped.

    Parameters
    ----------
    source
        A source that is not yet opened, or what `open_source` takes: a path, a glob, `kafka://host:port/topic`.
    model
        Any River classifier or regressor, fresh. On resume the checkpoint's takes its place: see `session.model`.
    columns
        Which column is what; a text is the name of the target.
    metrics
        River metrics, or their names as `make_metrics` takes them; None for what suits the model.
    positive, task, delay
        As for `Session`.
    labels
        A source of labels that come later, joined with their rows by key: not yet opened, or what `open_source` takes.
        None where rows have their own.
    label_ttl, limit, learn
        As for `Session`.
    bad_records
        What to do with malformed records and refused rows: `fail`, `skip`, `dlq=FILE`, or a `BadRecords` that the
        source has, too.
    predictions
        Where predictions go: a sink that is not yet opened, or what `open_sink` takes; None for nowhere.
    checkpoint
        Directory of the checkpoints; None for none.
    fresh
        Whether to set checkpoints that are there aside and start over.
    checkpoint_every, report_every
        `10000` for rows, `5s` for seconds, `2x` for 1, 2, 4, 8, ... rows; None reports only at the end.
    keep
        How many checkpoints to keep.
    allow_pickle
        Whether a model that is not ours may be pickled.
    requests
        What is asked of the run from outside.
    names
        What the user calls its `source` and its `predictions`.
    alerts
        Conditions to watch, as `parse_condition` takes them; `on_alert` is called with each that begins or ends.
    command
        The options that the run was begun with, as plain values, for `maxloss resume`; kept in its checkpoints.
    attachments
        Name -> what else goes along in the checkpoints, and is given its state back on resume.
    options
        Further arguments of `Session`.

    Examples
    --------
    >>> from stream_maxloss.linear import Perceptron
    >>> from stream_maxloss.run import Tail
    >>> from stream_maxloss_connectors.testing import MemorySource
    >>> source = MemorySource([{"x": 1.0, "y": True}, {"x": -1.0, "y": False}] * 50)
    >>> with Tail(source, Perceptron(), "y", metrics=["accuracy"], report_every="40") as tail:
    ...     for progress in tail:
    ...         print(progress.rows, progress.values)
    40 {'Accuracy': 0.975}
    80 {'Accuracy': 0.9875}
    >>> tail.measure().rows
    100

    """

    def __init__(
        self,
        source: Source | str | os.PathLike[str],
        model: Any,
        columns: Columns | str,
        *,
        metrics: Any = None,
        positive: str | None = None,
        task: str | None = None,
        delay: int = 0,
        labels: Source | str | os.PathLike[str] | None = None,
        label_ttl: str = "100000",
        limit: int | None = None,
        learn: bool = True,
        bad_records: BadRecords | str = "fail",
        predictions: Sink | str | os.PathLike[str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        fresh: bool = False,
        checkpoint_every: str | Schedule = "5s",
        report_every: str | Schedule | None = "2x",
        keep: int = 3,
        allow_pickle: bool = False,
        requests: Requests | None = None,
        names: dict[str, str] | None = None,
        command: dict[str, Any] | None = None,
        alerts: Sequence[str] = (),
        attachments: Mapping[str, Attachment] | None = None,
        **options: Any,
    ) -> None:
        from stream_maxloss_connectors import open_sink, open_source

        self.columns = Columns(columns) if isinstance(columns, str) else columns
        if isinstance(model, Keyed):
            self.columns = replace(self.columns, model_per=str(model.key))
        if labels is not None:
            self._require_join(delay, label_ttl)
            self.columns = replace(self.columns, may_lack=("target",))
        self.bad_records = parse_bad_records(bad_records) if isinstance(bad_records, str) else bad_records
        self.names = {"source": str(source), "predictions": str(predictions or "")} | (names or {})
        if isinstance(source, str | os.PathLike):
            source = open_source(source, bad_records=self.bad_records, columns=self.columns.wanted)
        if isinstance(predictions, str | os.PathLike):
            predictions = open_sink(predictions)
        if isinstance(labels, str | os.PathLike):
            labels = open_source(labels, bad_records=self.bad_records)
        self.source = source
        self.labels = labels
        self.label_ttl = label_ttl
        self.predictions = predictions
        self.model = model
        self.metrics = metrics
        self.fresh = fresh
        self.requests = Requests() if requests is None else requests
        self.report_every = as_schedule(report_every, "report_every")
        self.checkpoint_every = as_schedule(checkpoint_every, "checkpoint_every")
        self.on_step: Callable[[], None] = lambda: None
        self.on_alert: Callable[[Alert], None] = lambda alert: None
        self.is_stopped = False
        made = metric_names(make_metrics(metrics, model))  # refuses what does not fit before anything is opened
        has_slices = self.columns.slice_by is not None
        self.alerts = Alerts([parse_condition(text, made, has_slices) for text in alerts])
        self.watchers: list[Callable[[], None]] = []
        self._options = {"positive": positive, "task": task, "delay": delay, "limit": limit, "learn": learn, **options}
        self.store: RunStore | None = None
        if checkpoint is not None:
            settings, named = self._run_settings(positive, delay, task), is_named(metrics)
            self.store = RunStore(Path(checkpoint), settings, keep, allow_pickle, named)
            self.store.attachments = dict(attachments or {})
            self.store.command = command

    def _require_join(self, delay: int, label_ttl: str) -> None:
        """Refuse labels from elsewhere that could not be joined."""
        parse_lifetime(label_ttl, self.columns.time)
        for name, value in (("key", self.columns.key), ("target", self.columns.target)):
            if value is None:
                raise UsageError(f"--labels must come with --{name} COLUMN, got none; both sources have the key")
        if delay:
            raise UsageError(f"--labels must not come with --delay, got {delay}; labels come when they come")

    def _run_settings(self, positive: str | None, delay: int, task: str | None) -> dict[str, Any]:
        """Return what must stay the same for a run to go on."""
        columns = self.columns
        # Checkpoints of runs without these do not have them.
        found: dict[str, Any] = {} if self.labels is None else {"label-ttl": self.label_ttl}
        found |= {"task": task, "key": columns.key, "time": columns.time, "keep": list(columns.keep)}
        found = {name: value for name, value in found.items() if value}
        return found | {
            "target": columns.target,
            "positive": positive,
            "weight": columns.weight,
            "slice-by": columns.slice_by,
            "features": list(columns.features),
            "exclude": list(columns.exclude),
            "metric": metric_texts(self.metrics),
            "delay": delay,
        }

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            self._open(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._has_not_begun(error) and self.store is not None:
            self.store.withdraw()
        self.close()

    def close(self) -> None:
        """Let go of everything, and leave the checkpoints as they are."""
        self._stack.close()

    def _has_not_begun(self, error: BaseException | None) -> bool:
        """Return whether a run ends before its first row, because of what it was asked for or because there is none.

        Its checkpoints would bind the corrected command to the mistake, and the whole file to the empty one. What a
        stream says while it goes on is another matter: there the first position must not be lost.
        """
        if self.session.rows or self.bad_records.count:
            return False
        if self.source.waits:
            return isinstance(error, UsageError)
        return self.source.exhausted if error is None else isinstance(error, StreamMaxlossError)

    def _open(self, stack: contextlib.ExitStack) -> None:
        from stream_maxloss_connectors import refuse_clashing_outputs, refuse_outputs_that_are_read

        outputs = {"predictions": self.predictions, "dead letters": self.bad_records}
        for source in (self.source, self.labels):
            if source is not None:
                refuse_outputs_that_are_read(source, outputs)
        refuse_clashing_outputs(outputs, None if self.store is None else self.store.directory, self.source)
        content = None
        if self.store is not None:
            stack.callback(self.store.close)
            content = self.store.open(self.fresh, self.model)
        if self.store is not None and content is not None:
            self.model = take_model(content, allow_pickle=self.store.allow_pickle)
            logger.info("resuming from checkpoint %d at row %s", self.store.seq, f"{self.store.saved_rows:,}")
        if self.store is not None and isinstance(self.model, Keyed):
            self.model.shelve_in(self.store.working_folder("models"))
        self._place(content, stack)
        self.session = Session(
            self.model,
            self.source,
            self.columns,
            make_metrics(self.metrics, self.model),
            self.bad_records,
            predictions=self.predictions,
            patient=not self.source.waits,
            labels=self.labels,
            label_ttl=self.label_ttl,
            **self._options,
        )
        self.session.should_stop = lambda: self.requests.stopped or self.requests.checkpoint_wanted
        if self.store is not None:
            self.session.board.state_dict()  # refuses a metric that cannot be saved before the first row is learned
        if content is not None:
            take_over(self.session, content, {} if self.store is None else self.store.attachments)
            begun = content.values.get("predictions")
            self.session.carries_places = begun is None or bool(begun.get("places"))
            self.alerts.load_state_dict(content.values.get("alerts"))
        self.meter = ProgressMeter(self.session)
        self._reported = self._sent = self.session.rows

    def _place(self, content: Content | None, stack: contextlib.ExitStack) -> None:
        """Open source and sinks, anew or where a checkpoint left them."""
        from stream_maxloss_connectors import is_same_output

        if content is not None:
            self.bad_records.restore(content.values.get("bad_records"))
        stack.callback(self.source.close)
        self.source.with_keys = self.predictions is not None or remembering_part(self.model) is not None
        self.source.open(None if content is None else content.sources["source"])
        if self.labels is not None:
            stack.callback(self.labels.close)
            self.labels.open(None if content is None else label_position(content))
        stack.callback(self.bad_records.close)
        if self.predictions is not None:
            stack.callback(self.predictions.close)
            saved = {} if content is None else content.values.get("predictions", {})
            same = is_same_output(saved.get("uri", ""), self.names["predictions"])
            self.predictions.open(saved.get("position") if same else None)

    def __iter__(self) -> Iterator[Progress]:
        session = self.session
        if self.store is not None and self.store.seq is None:
            # Where it all began: without it a run that is killed before its next checkpoint begins somewhere else,
            # behind the rows that were rotated away meanwhile or, from the end of a topic, behind those it had read.
            self.save()
        while not session.finished and not self.requests.stopped and not self.is_stopped:
            session.step(self._cut())
            self._watch()
            if session.rows > self._reported and self.report_every.due(session.rows, self._reported):
                yield self.measure()
                self.meter.restart()
                self.report_every.done()
                self._reported = session.rows
            self.on_step()
            for watcher in self.watchers:
                watcher()
            if self.requests.take_checkpoint_wanted() or self._checkpoint_due():
                self.save()
            elif self.store is None:
                self._send_predictions()
        if session.source.exhausted:
            session.finish()
        self._watch(at_end=True)
        self.save()

    def _watch(self, at_end: bool = False) -> None:
        """Raise alerts that are due, at the end all that are not yet."""
        if self.alerts.is_due(self.session.rows) or (at_end and self.alerts.conditions):
            for alert in self.alerts.check(self.measure(), self.session.board.slices()):
                self.on_alert(alert)

    def run(self) -> Progress:
        """Run to the end, the limit or a request to stop; return how it stands then."""
        for _ in self:
            pass
        return self.measure()

    def measure(self) -> Progress:
        """Return how the run stands."""
        return replace(
            self.meter.measure(None if self.store is None else self.store.seq), alerts=tuple(self.alerts.active)
        )

    def save(self) -> None:
        """Write a checkpoint if there is a place for it, or else what was predicted."""
        if self.store is not None:
            self.store.alerts = self.alerts.state_dict() if self.alerts.conditions else None
            seq = self.store.save(self.session, self.names)
            self.checkpoint_every.done()
            logger.debug("checkpoint %d at row %s", seq, f"{self.session.rows:,}")
        elif self.predictions is not None:
            self.predictions.commit(self.predictions.flush())

    def _send_predictions(self) -> None:
        """Let a sink that keeps rows back until a checkpoint holds them have its way now and then without one."""
        rows = self.session.rows
        if self.predictions is None or not self.predictions.holds_back or rows == self._sent:
            return
        if self.checkpoint_every.due(rows, self._sent):
            self.predictions.commit(self.predictions.flush())
            self.checkpoint_every.done()
            self._sent = rows

    def _checkpoint_due(self) -> bool:
        store, rows = self.store, self.session.rows
        return store is not None and rows > store.saved_rows and self.checkpoint_every.due(rows, store.saved_rows)

    def _cut(self) -> int | None:
        schedules = [self.report_every] if self.store is None else [self.report_every, self.checkpoint_every]
        ends = [end for schedule in schedules if (end := schedule.next_row(self.session.rows)) is not None]
        watched = self.alerts.next_row()
        ends += [] if watched is None else [max(watched, self.session.rows + 1)]
        return min(ends) if ends else None


def as_schedule(value: str | Schedule | None, name: str) -> Schedule:
    """Return a schedule; None is one that is never due."""
    return value if isinstance(value, Schedule) else Schedule(str(1 << 62) if value is None else value, name)
