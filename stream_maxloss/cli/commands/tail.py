"""`maxloss tail`: predict, score, then learn every row of a source."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from stream_maxloss.cli.exit_codes import ALERT, DONE
from stream_maxloss.cli.options.columns import (
    metric_option,
    positive_option,
    read_slices,
    slices_option,
    tail_column_options,
    task_option,
)
from stream_maxloss.cli.options.config import config_option
from stream_maxloss.cli.options.group import grouped
from stream_maxloss.cli.options.intake import IntakeOptions, csv_types, intake_options
from stream_maxloss.cli.options.keyed import KeyedOptions, keyed_options
from stream_maxloss.cli.options.models import model_options
from stream_maxloss.cli.options.saved import MODEL, ResumableCommand, is_as_before, kept_command
from stream_maxloss.cli.options.scale import ScaleOptions, scale_options
from stream_maxloss.cli.options.source import (
    BadRecordOptions,
    SourceOptions,
    bad_record_options,
    peek_columns,
    tail_source_options,
)
from stream_maxloss.cli.options.tasks import (
    choose_task,
    is_settled,
    read_head,
    require_task,
    resumed_model,
    resumed_task,
)
from stream_maxloss.cli.options.usage import require_choice
from stream_maxloss.cli.reports.messages import Messages
from stream_maxloss.errors import UsageError

if TYPE_CHECKING:
    from stream_maxloss.cli.options.models import ModelSettings
    from stream_maxloss.cli.reports.base import Report
    from stream_maxloss.run import Columns, Session, Tail
    from stream_maxloss.run.alerts import Alert

__all__ = ["tail"]


@dataclass(frozen=True)
class CheckpointOptions:
    """What the options say about checkpoints."""

    checkpoint: Path | None
    resume: bool
    checkpoint_every: str
    keep_checkpoints: int
    allow_pickle: bool


@dataclass(frozen=True)
class ReportOptions:
    """What the options say about reports."""

    output: str
    report_every: str
    slices: str
    alerts: tuple[str, ...]
    actions: tuple[str, ...]
    quiet: bool
    verbose: bool
    watch: str | None


checkpoint_options = grouped(
    "checkpoints",
    CheckpointOptions,
    click.option(
        "--checkpoint",
        "-c",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Write checkpoints here, and continue from the last one.",
    ),
    click.option(
        "--resume/--fresh", default=True, help="Continue from the last checkpoint, or set it aside and start over."
    ),
    click.option("--checkpoint-every", metavar="ROWS|SECONDSs", default="5s", help="How often to write a checkpoint."),
    click.option("--keep-checkpoints", type=click.IntRange(min=1), default=3, help="How many checkpoints to keep."),
    click.option(
        "--allow-pickle",
        is_flag=True,
        help="Save models of other libraries as pickles; then load only checkpoints that you wrote.",
    ),
)
report_options = grouped(
    "reports",
    ReportOptions,
    click.option("--output", "-o", metavar="text|jsonl", default="text", help="Format of the reports."),
    click.option("--report-every", metavar="ROWS|SECONDSs|FACTORx", default="2x", help="How often to report."),
    slices_option,
    click.option(
        "--alert",
        "alerts",
        metavar="CONDITION",
        multiple=True,
        help="Warn when a condition holds: 'worst_slice.Recall<0.5 for 10000', 'since_last.MAE>3', 'lag>100000'.",
    ),
    click.option(
        "--on-alert",
        "actions",
        metavar="exit|run=COMMAND|post=URL",
        multiple=True,
        help="On an alert, also exit with code 6, run a command, or post to a server on this machine.",
    ),
    click.option("--quiet", "-q", is_flag=True, help="No reports, only errors."),
    click.option("--verbose", "-v", is_flag=True, help="Log every checkpoint."),
    click.option("--watch", metavar="PORT", help="Show the run on a live web page at this local port."),
)


@click.command(cls=ResumableCommand)
@tail_source_options
@tail_column_options
@positive_option
@task_option
@intake_options
@model_options
@keyed_options
@metric_option
@click.option("--delay", type=click.IntRange(min=0), default=0, help="Rows to wait before a label is known.")
@click.option(
    "--labels", metavar="SOURCE", help="A second source of labels that arrive later, joined to their rows by --key."
)
@click.option(
    "--label-ttl",
    metavar="ROWS|DURATION",
    default="100000",
    help="How long a row waits for its label: a number of rows, or 45s, 30m, 12h, 7d by --time.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Stop at this many rows, including those before a resume.")
@click.option(
    "--text-limit",
    metavar="VALUES",
    type=click.IntRange(min=1),
    help="Distinct values to keep per text column (65,536); later ones count as (other).",
)
@bad_record_options
@click.option("--predictions", "-p", metavar="FILE|kafka://...", help="Write the prediction for each row here.")
@checkpoint_options
@scale_options
@report_options
@click.option("--dry-run", is_flag=True, help="Read some rows, show the plan, and write nothing.")
@config_option
def tail(
    source: SourceOptions,
    columns: Columns,
    intake: IntakeOptions,
    model: ModelSettings,
    keyed: KeyedOptions,
    bad: BadRecordOptions,
    checkpoints: CheckpointOptions,
    scale: ScaleOptions,
    reports: ReportOptions,
    predictions: str | None,
    metrics: tuple[str, ...],
    positive: str | None,
    task: str | None,
    text_limit: int | None,
    labels: str | None,
    dry_run: bool,
    **scope: Any,
) -> int:
    """Predict, score and then learn every row of a source, and report the scores.

    Reports go to stdout, messages to stderr. On a terminal the reports are a live view. Exit codes: 0 done or stopped
    by SIGTERM, 1 failed, 2 invalid arguments, 3 bad data, 4 checkpoint unusable, 5 source unavailable or with a gap,
    130 interrupted.
    """
    from stream_maxloss.cli.options.models import build_model
    from stream_maxloss.run import Schedule, Tail, TextValues

    messages = Messages(reports.quiet, reports.verbose)
    messages.catch_all()
    require_choice("--output", reports.output, ("text", "jsonl"))
    target = columns.target
    if target is None:
        raise UsageError(f"--target must name the label's column{peek_columns(source)}")
    if checkpoints.checkpoint is None and not checkpoints.resume:
        raise UsageError("--fresh must come with --checkpoint DIR; without one every run is fresh")
    scale.check()
    if scale.is_wanted:
        given = {"--limit": scope.get("limit"), "--labels": labels, "--watch": reports.watch, "--dry-run": dry_run}
        scale.refuse({**given, "--alert": reports.alerts, "--certify": model.certify, "--decoders": source.decoders})
    late = None
    if labels is not None:
        late, columns = source.for_labels(labels), replace(columns, may_lack=("target",))
    taking = intake.make()
    reading = {"types": csv_types(taking)}
    context = click.get_current_context()
    checkpoints = with_old_keep(checkpoints, context, messages)
    saved = context.meta.get("run")
    if saved is not None and source.follow and is_as_before("follow"):
        messages.say("following, as the run did before; --no-follow stops at the last row")
    columns = replace(columns, model_per=keyed.model_per)
    model = resumed_model(model, saved, is_default=is_left_out("name") and keyed.model_per is None)
    require_task(task, positive, model.is_auto, model.takes_classes)
    found = resumed_task(saved, task, positive) if model.takes_classes else None
    # A run that goes on knows what its columns are.
    is_known = found is not None or is_settled(saved, task, positive) or (saved is not None and not model.takes_classes)
    head = None if is_known else read_head(source, columns.wanted, **reading)
    if model.takes_classes:
        labelled = head if late is None or is_known else read_head(late, None)
        found = found if is_known else choose_task(labelled, target, positive, task, model.is_auto)
        if found is not None:
            task, metrics = found.kind, metrics or found.metrics
            if found.reason:
                messages.say(found.reason)
    model = keyed.choose(model, is_left_out("name"), task)
    if not model.is_auto and model.scale is None and source.is_sparse:
        model = replace(model, scale=False)
    learner = keyed.wrap(build_model(model, task), all(map(is_left_out, ("name", *MODEL))))
    if scale.is_wanted:
        from stream_maxloss.cli.commands.scaled import make_job, run_on_ray

        said = {"metrics": metrics, "positive": positive, "task": task, "delay": scope["delay"]}
        said |= {"intake": taking, "command": kept_command(context)}
        job = make_job(
            *(source, learner, columns, bad, checkpoints, scale, predictions),
            text_limit=text_limit,
            types=reading["types"],
            options=said,
        )
        return run_on_ray(job, scale, not checkpoints.resume, reports, messages)
    bad_records = bad.make()
    run = Tail(
        source.open_aside(bad_records, columns.wanted, **reading),
        scale.mixed(learner),
        columns,
        metrics=metrics,
        positive=positive,
        task=task,
        bad_records=bad_records,
        labels=None if late is None else late.open(bad_records),
        predictions=None
        if predictions is None or dry_run
        else source.open_predictions(predictions, columns.key is not None),
        checkpoint=None if dry_run else checkpoints.checkpoint,
        fresh=not checkpoints.resume,
        checkpoint_every=Schedule(checkpoints.checkpoint_every, "--checkpoint-every"),
        report_every=Schedule(reports.report_every, "--report-every"),
        keep=checkpoints.keep_checkpoints,
        allow_pickle=checkpoints.allow_pickle,
        names={"source": source.name, "predictions": predictions or ""},
        texts=TextValues(text_limit),
        intake=taking,
        head=head,
        command=kept_command(context),
        alerts=reports.alerts,
        **scope,
    )
    if dry_run:
        return rehearse(run, {"predictions": predictions, "checkpoints": checkpoints.checkpoint})
    with watched_by(run, reports.watch, messages):
        return follow(run, reports, messages)


def with_old_keep(options: CheckpointOptions, context: click.Context, messages: Messages) -> CheckpointOptions:
    """Return the options with the count of `--keep 3`, as version 0.1 spelled it, and a warning about it."""
    count = context.meta.get("checkpoints to keep")
    if count is None:
        return options
    messages.say(f"warning: --keep {count} is deprecated and will be removed in 0.3; use --keep-checkpoints {count}")
    return replace(options, keep_checkpoints=count)


@contextlib.contextmanager
def watched_by(run: Tail, port: str | None, messages: Messages) -> Iterator[None]:
    """Show a run on a live page, if that was asked for."""
    if port is None:
        yield
        return
    from stream_maxloss.cli.options.listening import transport_at
    from stream_maxloss.serve.server import require_extra, watched
    from stream_maxloss.serve.watcher import Watcher

    require_extra()
    watcher = Watcher(run)
    with watched(watcher.bulletin, transport_at(port), messages.say):
        yield


def is_left_out(option: str) -> bool:
    """Return whether neither the user nor a configuration file has given an option."""
    return click.get_current_context().get_parameter_source(option) is ParameterSource.DEFAULT


def follow(run: Tail, options: ReportOptions, messages: Messages) -> int:
    """Run to the end, the limit or a signal; return the exit code."""
    from stream_maxloss.cli.process.signals import SignalFlags
    from stream_maxloss.cli.reports.alert_actions import AlertActions
    from stream_maxloss.run.certificate import certificate_line

    most, actions = read_slices(options.slices), AlertActions(options.actions, messages)

    def act(alert: Alert) -> None:
        actions(alert)
        run.is_stopped = actions.ends and actions.raised

    run.on_alert = act
    with run, contextlib.closing(choose_report(run, options)) as report, SignalFlags(report.leave_at_once) as flags:
        run.requests = flags
        run.on_step = lambda: report.tick(run.measure)
        for progress in run:
            report.report(progress)
        board = run.session.board
        if run.session.rows or options.output == "jsonl":
            report.finish(run.measure(), board.slices() if options.output == "jsonl" else last_words(run, most))
    for line in (certificate_line(run.model), ScaleOptions.price(run.model)):
        if line is not None:
            messages.say(line)
    warn(run.session, run.names["source"], messages)
    if actions.ends and actions.raised:
        return ALERT
    return flags.exit_code if flags.stopped else DONE


def last_words(run: Tail, most: int | None) -> str | None:
    """Return what follows the scores: the slices, and what `auto` has chosen."""
    from stream_maxloss.cli.reports.experts import experts_text

    parts = [part for part in (run.session.board.slice_table(most), experts_text(run.model)) if part is not None]
    return "\n\n".join(parts) or None


def choose_report(run: Tail, options: ReportOptions) -> Report:
    """Return what shows progress: a live view on a terminal, else what `make_report` makes."""
    is_terminal = sys.stdout.isatty() and sys.stderr.isatty()
    is_able = is_terminal and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
    if options.quiet or options.output == "jsonl" or not is_able:
        from stream_maxloss.cli.reports.base import make_report

        return make_report(options.quiet, options.output, run.columns.slice_by is not None)
    from stream_maxloss.cli.reports.live import LiveReport, look_at

    return LiveReport(run.names["source"], lambda: look_at(run), sys.stdout, saves=run.store is not None)


def warn(session: Session, source: str, messages: Messages) -> None:
    """Point to what is probably a mistake."""
    if session.unlabelled and session.target is not None:
        messages.say(
            f"{session.unlabelled:,} of {session.rows:,} rows had no {session.target.name!r}: predicted, not learned"
        )
    if not session.rows:
        remedy = "" if session.source.waits else "; was it written to the end? --follow waits for rows to come"
        messages.say(f"{source} had no rows, so nothing was learned{remedy}")
    elif session.target is not None and session.target.positive is not None and not session.target.seen_positive:
        messages.say(f"warning: no row had the target {session.target.positive!r}; check --positive")


def rehearse(run: Tail, places: dict[str, Any]) -> int:
    """Read some rows, learn them with a throw-away model, and say what would be done."""
    from stream_maxloss.run.closest import listed

    path = run.bad_records.path
    if path is not None:
        raise UsageError(f"--dry-run must not come with a dead-letter file, got {path}; use --on-bad skip")
    with run:
        session = run.session
        session.step(cut_at=1000, timeout=1.0)
    positive = "" if session.target is None or not session.target.positive else f" = {session.target.positive}"
    lines = [
        f"source       {run.names['source']}",
        f"target       {run.columns.target}{positive}",
        f"features     {listed(session.feed.features, 20)}",
        f"model        {type(run.model).__name__}: " + " ".join(str(run.model).split()),
        f"metrics      {', '.join(session.board.names)}",
        *(f"{name:<12} {place or 'none'}" for name, place in places.items()),
        f"rows read    {session.rows} (nothing was written)",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return DONE
