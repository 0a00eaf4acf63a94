"""A model that is served: the run, its log, its answers and what is shown of it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
import warnings
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream_maxloss.checkpoint import CheckpointStore
from stream_maxloss.errors import CheckpointError
from stream_maxloss.run import Columns, Tail
from stream_maxloss.run.history import History
from stream_maxloss.run.target import label_kind
from stream_maxloss.run.words import parse_bad_records
from stream_maxloss.serve.bulletin import Bulletin
from stream_maxloss.serve.keys import Keys
from stream_maxloss.serve.learner import Learner
from stream_maxloss.serve.limits import Limits
from stream_maxloss.serve.log import Journal
from stream_maxloss.serve.log.journal import MAGIC
from stream_maxloss.serve.log_source import JoinedSource, LogSource
from stream_maxloss.serve.meters import Meters
from stream_maxloss.serve.predictor import Predictor
from stream_maxloss.serve.refusals import Refusals
from stream_maxloss.serve.row_form import RowForm
from stream_maxloss.serve.snapshot import find_in, snapshot_of
from stream_maxloss.serve.waiting import Waiting

if TYPE_CHECKING:
    from stream_maxloss_connectors import BadRecords, Source

__all__ = ["Service"]

logger = logging.getLogger("stream_maxloss.run")


class Service:
    """What `maxloss serve` serves.

    Parameters
    ----------
    directory
        Where checkpoints and the log are, or are to be.
    model
        Any River classifier or regressor, fresh; where there are checkpoints, theirs takes its place.
    columns
        Which column is what; a text is the name of the target.
    source
        A source to learn from at the same time, not yet opened; or None.
    identity
        The column of ids, for labels that come later; None for none.
    label_seconds, max_waiting
        How long rows wait for their labels, and how many.
    limits
        Bounds on what clients may ask.
    name
        What clients call the model; the directory's name by default.
    bad_records
        What to do with bad records of the source.
    options
        Further arguments of `run.Tail`.

    Examples
    --------
    >>> import asyncio, tempfile
    >>> from stream_maxloss.linear import Perceptron
    >>> from stream_maxloss.serve.bodies import read_body
    >>> from stream_maxloss.serve.service import Service
    >>> async def learn():
    ...     async with Service(tempfile.mkdtemp(), Perceptron(), "y").running() as service:
    ...         body = read_body(b'[{"x": 1, "y": true}, {"x": -1, "y": false}]', "application/json")
    ...         return await service.learner.learn(body), service.predictor.one(b'{"x": 2}')["prediction"]
    >>> asyncio.run(learn())
    ({'sequence': 1, 'rows': 2, 'learned': 2, 'refused': []}, True)

    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        model: Any,
        columns: Columns | str,
        *,
        source: Source | None = None,
        identity: str | None = None,
        label_seconds: float = 3600.0,
        max_waiting: int = 10_000,
        limits: Limits | None = None,
        name: str | None = None,
        bad_records: BadRecords | str = "fail",
        **options: Any,
    ) -> None:
        columns = Columns(columns) if isinstance(columns, str) else columns
        self.directory = Path(directory)
        self.name = name or self.directory.absolute().name
        self.limits = limits or Limits()
        self.identity = identity
        self.started_at = time.time()
        self.application: Any = None
        self.on_end: Callable[[], None] = lambda: None
        policy = parse_bad_records(bad_records) if isinstance(bad_records, str) else bad_records
        self.refusals = Refusals(policy)
        self.keys = Keys(self.limits.keys)
        self.waiting = None
        if identity is not None:
            self.waiting = Waiting(str(columns.target), identity, label_seconds, max_waiting)
        self.history = History()
        self.bulletin = Bulletin()
        self.meters = Meters()
        kind = options.get("task") or label_kind(model)
        self.form = RowForm(columns, kind, options.get("positive"), identity)
        self.log = LogSource(Journal(self.directory / "log"), self.form, self.waiting, self.refusals.handle)
        self.source = source
        attachments: dict[str, Any] = {"history": self.history, "keys": self.keys}
        if self.waiting is not None:
            attachments["waiting"] = self.waiting
        names = {"source": self._last_source() if source is None else str(source), **options.pop("names", {})}
        self.tail = Tail(
            JoinedSource(self.log, source),
            model,
            columns,
            bad_records=self.refusals,
            checkpoint=self.directory,
            attachments=attachments,
            names=names,
            **{"report_every": "2s", **options},
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Service]:
        """Open everything, learn in the background, and leave with a checkpoint of all that was learned."""
        self._refuse_lost_log()
        with self.tail as tail:
            self.predictor = Predictor(tail.session, self.form)
            self.learner = Learner(
                tail, self.log, self.source, self.refusals, self.keys, self.limits, on_report=self.report
            )
            self.learner.on_slice = self.meters.took_slice
            if tail.store is not None and tail.store.seq is None:
                tail.save()
            self.report()
            self.learner.on_stop_wanted = lambda: self.on_end()
            learning = asyncio.create_task(self.learner.run())
            learning.add_done_callback(lambda _: self.on_end())
            try:
                waiting = asyncio.create_task(self.learner.recovered.wait())
                await asyncio.wait([learning, waiting], return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                if not learning.done():
                    yield self
            finally:
                self.learner.stop()
                await learning
                self.report()

    def _last_source(self) -> str:
        """Return what the run before called its source: its position goes along, also while nobody reads it."""
        with contextlib.suppress(CheckpointError), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # opening it for good will say what is damaged
            return str(CheckpointStore(self.directory).load(allow_pickle=True).values.get("source_name", "HTTP"))
        return "HTTP"

    def _refuse_lost_log(self) -> None:
        """Refuse a directory whose log has rows and whose checkpoints are gone: the rows would be learned anew."""
        has_rows = any(path.stat().st_size > len(MAGIC) for path in (self.directory / "log").glob("rows-*.log"))
        if has_rows and not any(self.directory.glob("ckpt-*")) and not self.tail.fresh:
            raise CheckpointError(
                f"{self.directory} must hold the checkpoints that its log belongs to, got none; restore them, or start "
                "over in another directory"
            )

    def report(self) -> None:
        """Take note of how the run stands, and show it."""
        tail, learner = self.tail, self.learner
        progress, report = tail.measure(), tail.session.board.slices()
        for alert in tail.alerts.check(progress, report):
            logger.info(alert.line)
        progress = replace(progress, alerts=tuple(tail.alerts.active))
        self.history.add(progress, report)
        tail.meter.restart()
        extra = {
            "service": self.name,
            "queue": learner.queued_rows,
            "checkpoint_seconds": round(time.time() - learner.saved_at, 1),
            "uptime_seconds": round(time.time() - self.started_at, 1),
            "waiting": None if self.waiting is None else {"rows": len(self.waiting), **self.waiting.counts},
        }
        source = tail.names["source"]
        shown = (tail.model, tail.columns, source, progress, report, self.history, extra)
        self.bulletin.publish(snapshot_of(*shown, find_in(tail.session)))
        self.meters.show(self, progress)
