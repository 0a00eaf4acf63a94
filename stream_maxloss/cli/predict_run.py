"""What `maxloss predict` does once its options are read."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from stream_maxloss.cli.certify import promoted
from stream_maxloss.cli.closest import listed
from stream_maxloss.cli.exit_codes import DONE
from stream_maxloss.cli.messages import Messages
from stream_maxloss.cli.metrics_option import make_metrics
from stream_maxloss.cli.progress import ProgressMeter
from stream_maxloss.cli.report_plain import summarise
from stream_maxloss.cli.row_feed import Columns
from stream_maxloss.cli.run_store import load_run, parse_type
from stream_maxloss.cli.session import Session
from stream_maxloss.cli.signals import SignalFlags
from stream_maxloss.cli.source_options import SourceSettings, make_bad_records, make_source
from stream_maxloss.cli.tail_run import make_predictions_sink
from stream_maxloss_connectors.base import Position, Sink

__all__ = ["PredictPlan", "run_predict"]


@dataclass(frozen=True)
class PredictPlan:
    """Everything that the options say."""

    source: SourceSettings
    checkpoint: Path | None
    target: str | None = None
    predictions: str = "-"
    metrics: tuple[str, ...] = ()
    slice_by: str | None = None
    limit: int | None = None
    on_bad: str = "fail"
    max_bad: str | None = None
    allow_pickle: bool = False
    quiet: bool = False


class StdoutSink(Sink):
    """JSON lines on standard output."""

    exactly_once = False

    def open(self, position: Mapping[str, Any] | None = None) -> None:
        """Do nothing."""

    def write(self, records: pa.RecordBatch) -> None:
        """Write rows."""
        options = orjson.OPT_APPEND_NEWLINE
        sys.stdout.buffer.write(b"".join([orjson.dumps(row, option=options) for row in records.to_pylist()]))
        sys.stdout.buffer.flush()

    def flush(self) -> Position:
        """Return nothing: what was printed cannot be taken back."""
        return {}

    def close(self) -> None:
        """Do nothing."""


def run_predict(plan: PredictPlan) -> int:
    """Run `maxloss predict` and return the exit code."""
    messages = Messages(plan.quiet)
    messages.catch_warnings()
    if plan.checkpoint is None:
        raise ValueError("--checkpoint must name a directory of checkpoints; maxloss tail --checkpoint DIR makes one")
    if plan.slice_by is not None and plan.target is None:
        raise ValueError(
            f"--slice-by must come with --target, got {plan.slice_by!r}; there is nothing to score without"
        )
    loaded, run, content = load_run(plan.checkpoint, plan.allow_pickle)
    model = promoted(loaded)
    form = content.values.get("row_form", {})
    features = form.get("features", [])
    columns = Columns(plan.target, None, plan.slice_by, tuple(features))
    bad_records = make_bad_records(plan.on_bad, plan.max_bad)
    with contextlib.ExitStack() as stack:
        source = make_source(plan.source, bad_records)
        stack.callback(bad_records.close)
        stack.callback(source.close)
        source.open()
        sink = StdoutSink() if plan.predictions == "-" else make_predictions_sink(plan.predictions, plan.source)
        stack.callback(sink.close)
        sink.open()
        session = Session(
            model,
            source,
            columns,
            make_metrics(plan.metrics or run.get("metric"), model),
            bad_records,
            positive=run.get("positive") if plan.target is not None else None,
            learn=False,
            predictions=sink,
            limit=plan.limit,
            label_type=parse_type(form["label_type"]) if form.get("label_type") else None,
        )
        session.patient = not (plan.source.follow or plan.source.is_kafka or "-" in plan.source.sources)
        return finish(session, plan, features)


def finish(session: Session, plan: PredictPlan, features: list[str]) -> int:
    """Predict to the end or until a signal."""
    meter = ProgressMeter(session)
    with SignalFlags() as flags:
        session.should_stop = lambda: flags.stopped
        while not session.finished and not flags.stopped:
            try:
                session.step()
            except ValueError as error:
                raise explain(error, session, features) from error
        if session.predictions is not None:
            session.predictions.flush()
        if plan.target is not None and not plan.quiet and session.rows:
            sys.stderr.write(summarise(meter.measure(None), session.board.slice_table()) + "\n")
        return flags.exit_code if flags.stopped else DONE


def explain(error: ValueError, session: Session, features: list[str]) -> ValueError:
    """Return an error that says which features of the model the source lacks, where that is the reason."""
    if "--features" not in str(error):
        return error
    return ValueError(
        f"the source must have the columns that the model was learned from ({listed(features)}), got: {error}"
    )
