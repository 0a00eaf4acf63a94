"""What `maxloss tail` does once its options are read."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream_maxloss.checkpoint import take_model
from stream_maxloss.cli.certify import certificate_line
from stream_maxloss.cli.closest import listed
from stream_maxloss.cli.messages import Messages
from stream_maxloss.cli.metrics_option import make_metrics
from stream_maxloss.cli.models import ModelSettings, build_model, focused_part
from stream_maxloss.cli.row_feed import Columns
from stream_maxloss.cli.run_store import RunStore
from stream_maxloss.cli.runner import QuietReport, Report, Runner
from stream_maxloss.cli.schedule import Schedule
from stream_maxloss.cli.session import Session
from stream_maxloss.cli.signals import SignalFlags
from stream_maxloss.cli.source_options import SourceSettings, make_bad_records, make_source, split_pair
from stream_maxloss.errors import StreamMaxlossError

if TYPE_CHECKING:
    from stream_maxloss.checkpoint import Content
    from stream_maxloss_connectors.bad_records import BadRecords
    from stream_maxloss_connectors.base import Sink, Source

__all__ = ["TailPlan", "make_predictions_sink", "make_report", "peek_columns", "run_tail"]


@dataclass(frozen=True)
class TailPlan:
    """Everything that the options say."""

    source: SourceSettings
    columns: Columns
    model: ModelSettings
    positive: str | None = None
    metrics: tuple[str, ...] = ()
    delay: int = 0
    limit: int | None = None
    on_bad: str = "fail"
    max_bad: str | None = None
    predictions: str | None = None
    checkpoint: Path | None = None
    fresh: bool = False
    checkpoint_every: str = "5s"
    keep: int = 3
    allow_pickle: bool = False
    output: str = "text"
    report_every: str = "2x"
    dry_run: bool = False
    quiet: bool = False
    verbose: bool = False

    def run_settings(self) -> dict[str, Any]:
        """Return what must stay the same for a run to go on."""
        columns = self.columns
        return {
            "target": columns.target,
            "positive": self.positive,
            "weight": columns.weight,
            "slice-by": columns.slice_by,
            "features": list(columns.features),
            "exclude": list(columns.exclude),
            "metric": list(self.metrics),
            "delay": self.delay,
        }


def run_tail(plan: TailPlan) -> int:
    """Run `maxloss tail` and return the exit code."""
    messages = Messages(plan.quiet, plan.verbose)
    messages.catch_warnings()
    if plan.output not in ("text", "jsonl"):
        raise ValueError(f"--output must be text or jsonl, got {plan.output!r}")
    if plan.columns.target is None:
        raise ValueError(f"--target must name the label's column{peek_columns(plan.source)}")
    report_every = Schedule(plan.report_every, "--report-every")
    checkpoint_every = Schedule(plan.checkpoint_every, "--checkpoint-every")
    model = build_model(plan.model)
    make_metrics(plan.metrics, model)
    bad_records = make_bad_records(plan.on_bad, plan.max_bad)
    source = make_source(plan.source, bad_records)
    if plan.dry_run:
        return rehearse(plan, model, source, bad_records)
    with contextlib.ExitStack() as stack:
        store, content = open_store(plan, model, stack)
        if content is not None:
            model = take_model(content, allow_pickle=plan.allow_pickle)
            messages.say(f"going on from checkpoint {store.seq} at row {store.saved_rows:,}" if store else "")
        session = open_session(plan, model, source, bad_records, content, stack)
        if store is not None and content is not None:
            store.restore(session, content)
        report = make_report(plan, session)
        stack.callback(report.close)
        leave = getattr(report, "leave_at_once", lambda: None)
        with SignalFlags(leave) as flags:
            runner = Runner(session, report, flags, report_every, checkpoint_every, store, messages.detail)
            code = runner.run()
            report.finish(runner.measure(), details_of(plan, session))
    if (line := certificate_line(session.model)) is not None:
        messages.say(line)
    warn(session, messages)
    return code


def open_store(plan: TailPlan, model: Any, stack: contextlib.ExitStack) -> tuple[RunStore | None, Content | None]:
    """Take the checkpoint directory, and return the checkpoint to go on from."""
    if plan.checkpoint is None:
        if plan.fresh:
            raise ValueError("--fresh must come with --checkpoint DIR; without one every run is fresh")
        return None, None
    store = RunStore(plan.checkpoint, plan.run_settings(), plan.keep, plan.allow_pickle)
    stack.callback(store.close)
    return store, store.open(plan.fresh, model)


def open_session(
    plan: TailPlan,
    model: Any,
    source: Source,
    bad_records: BadRecords,
    content: Content | None,
    stack: contextlib.ExitStack,
) -> Session:
    """Open source and sinks, anew or where a checkpoint left them."""
    if content is not None:
        bad_records.restore(content.values["bad_records"])
    source.open(None if content is None else content.sources["source"])
    stack.callback(source.close)
    stack.callback(bad_records.close)
    sink = None if plan.predictions is None else make_predictions_sink(plan.predictions, plan.source)
    if sink is not None:
        saved = {} if content is None else content.values.get("predictions", {})
        sink.open(saved.get("position") if saved.get("uri") == plan.predictions else None)
        stack.callback(sink.close)
    session = Session(
        model,
        source,
        plan.columns,
        make_metrics(plan.metrics, model),
        bad_records,
        positive=plan.positive,
        delay=plan.delay,
        predictions=sink,
        predictions_uri=plan.predictions or "",
        source_name=plan.source.name,
        limit=plan.limit,
    )
    # A file has all its rows at once; what trickles must not wait for a full batch.
    session.patient = not (plan.source.follow or plan.source.is_kafka or "-" in plan.source.sources)
    if plan.checkpoint is not None:
        session.board.state_dict()  # refuses a metric that cannot be saved now rather than at the first checkpoint
    return session


def make_predictions_sink(uri: str, source: SourceSettings) -> Sink:
    """Return the sink for predictions, with the source's Kafka settings where both are Kafka."""
    from stream_maxloss_connectors.open_sink import open_sink

    if not uri.startswith("kafka://"):
        return open_sink(uri)
    settings = dict(split_pair(text) for text in source.extra) if source.is_kafka else {}
    return open_sink(uri, settings=settings, settings_file=source.kafka_config)


def make_report(plan: TailPlan, session: Session) -> Report:
    """Return what shows progress: nothing, JSON lines, a live view on a terminal, or lines."""
    if plan.quiet:
        return QuietReport()
    if plan.output == "jsonl":
        from stream_maxloss.cli.report_jsonl import JsonlReport

        return JsonlReport(sys.stdout)
    if sys.stdout.isatty() and sys.stderr.isatty():
        from stream_maxloss.cli.live import LiveReport

        focused = focused_part(session.model)
        return LiveReport(plan.source.name, None if focused is None else focused.hardest, sys.stdout)
    from stream_maxloss.cli.report_plain import PlainReport

    return PlainReport(sys.stdout, slices=plan.columns.slice_by is not None)


def details_of(plan: TailPlan, session: Session) -> Any:
    """Return the slices in the form that the last report takes."""
    return session.board.slices() if plan.output == "jsonl" else session.board.slice_table()


def warn(session: Session, messages: Messages) -> None:
    """Point to what is probably a mistake."""
    if not session.rows:
        messages.say("warning: the source had no rows")
    elif session.target is not None and session.target.positive is not None and not session.target.seen_positive:
        messages.say(f"warning: no row had the target {session.target.positive!r}; check --positive")


def peek_columns(settings: SourceSettings) -> str:
    """Return the columns of files, for an error message; nothing where looking would cost rows or time."""
    if not settings.sources:
        return ""
    if settings.is_kafka or settings.follow or "-" in settings.sources:
        return "; maxloss schema shows the columns"
    source = make_source(settings)
    with contextlib.suppress(StreamMaxlossError), source:
        source.open()
        batch = source.next_batch(1, 1.0)
        return "" if batch is None else f"; there are {listed(batch.records.schema.names)}"
    return ""


def rehearse(plan: TailPlan, model: Any, source: Source, bad_records: BadRecords) -> int:
    """Read some rows, learn them with a throw-away model, and say what would be done."""
    if bad_records.path is not None:
        raise ValueError(f"--dry-run must not come with a dead-letter file, got {bad_records.path}; use --on-bad skip")
    metrics = make_metrics(plan.metrics, model)
    with source:
        source.open()
        session = Session(model, source, plan.columns, metrics, bad_records, positive=plan.positive, delay=plan.delay)
        session.step(cut_at=1000, timeout=1.0)
    lines = [
        f"source       {plan.source.name}",
        f"target       {plan.columns.target}" + (f" = {plan.positive}" if plan.positive else ""),
        f"features     {listed(session.feed.features, 20)}",
        f"model        {type(model).__name__}: " + " ".join(str(model).split()),
        f"metrics      {', '.join(session.board.names)}",
        f"predictions  {plan.predictions or 'none'}",
        f"checkpoints  {plan.checkpoint or 'none'}",
        f"rows read    {session.rows} (nothing was written)",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0
