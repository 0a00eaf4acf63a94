"""`maxloss serve`: predict and learn over HTTP, with a live page."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stream_maxloss.cli.commands.tail import is_left_out
from stream_maxloss.cli.exit_codes import DONE
from stream_maxloss.cli.options.columns import column_options, metric_option, positive_option, task_option
from stream_maxloss.cli.options.config import config_option
from stream_maxloss.cli.options.group import Command, argument, grouped
from stream_maxloss.cli.options.listening import ListenOptions, listen_options
from stream_maxloss.cli.options.models import model_options
from stream_maxloss.cli.options.source import BadRecordOptions, SourceOptions, bad_record_options, tail_source_options
from stream_maxloss.cli.options.tasks import (
    choose_task,
    is_settled,
    read_head,
    require_task,
    resumed_model,
    resumed_task,
    saved_run,
)
from stream_maxloss.cli.reports.messages import Messages
from stream_maxloss.errors import UsageError

if TYPE_CHECKING:
    from stream_maxloss.cli.options.models import ModelSettings
    from stream_maxloss.run import Columns
    from stream_maxloss.serve.service import Service

__all__ = ["serve"]


@dataclass(frozen=True)
class ServiceOptions:
    """What the options say about the service itself."""

    id_column: str | None
    label_within: float
    max_waiting: int
    max_body: int
    max_rows: int
    max_queue: int
    max_slice: float
    model_name: str | None

    def settings(self) -> dict[str, Any]:
        """Return the arguments of `Service`."""
        from stream_maxloss.serve.limits import Limits

        limits = Limits(
            body_bytes=self.max_body << 20,
            body_rows=self.max_rows,
            queue_rows=self.max_queue,
            slice_seconds=self.max_slice / 1000.0,
        )
        found = {"identity": self.id_column, "label_seconds": self.label_within, "max_waiting": self.max_waiting}
        return {**found, "limits": limits, "name": self.model_name}


service_options = grouped(
    "service",
    ServiceOptions,
    click.option(
        "--id", "id_column", metavar="COLUMN", help="Column of ids; predicted rows then wait for their labels."
    ),
    click.option("--label-within", metavar="SECONDS", type=float, default=3600.0, help="How long they wait."),
    click.option(
        "--max-waiting", type=click.IntRange(min=1), default=10_000, help="Most rows that may wait for labels."
    ),
    click.option(
        "--max-body", metavar="MEGABYTES", type=click.IntRange(1, 1000), default=32, help="Largest request body."
    ),
    click.option("--max-rows", type=click.IntRange(min=1), default=100_000, help="Most rows per request."),
    click.option(
        "--max-queue", type=click.IntRange(min=1), default=500_000, help="Most rows that may wait to be learned."
    ),
    click.option(
        "--max-slice",
        metavar="MILLISECONDS",
        type=click.FloatRange(0.1, 1000.0),
        default=4.0,
        help="Roughly how long learning may delay predictions.",
    ),
    click.option(
        "--name", "model_name", metavar="NAME", help="The model's name for clients. Default: the directory's name."
    ),
)


@click.command(cls=Command)
@argument(
    "directory", "DIR", "Checkpoints and log of the service; created if missing.", type=click.Path(path_type=Path)
)
@tail_source_options
@column_options
@positive_option
@task_option
@model_options
@metric_option
@bad_record_options
@listen_options
@service_options
@click.option("--checkpoint-every", metavar="ROWS|SECONDSs", default="5s", help="How often to write a checkpoint.")
@click.option("--keep-checkpoints", "keep", type=click.IntRange(min=1), default=3, help="How many checkpoints to keep.")
@click.option("--report-every", metavar="SECONDSs", default="2s", help="How often the page is updated.")
@click.option(
    "--alert",
    "alerts",
    metavar="CONDITION",
    multiple=True,
    help="Say so, on the page and stderr, when a condition holds: 'worst_slice.Recall<0.5 for 10000', 'lag>100000'.",
)
@click.option(
    "--allow-pickle",
    is_flag=True,
    help="Save models of other libraries as pickles; then load only checkpoints that you wrote.",
)
@config_option
@click.option("--quiet", "-q", is_flag=True, help="No messages, only errors.")
def serve(
    directory: Path,
    source: SourceOptions,
    columns: Columns,
    model: ModelSettings,
    bad: BadRecordOptions,
    listening: ListenOptions,
    service: ServiceOptions,
    metrics: tuple[str, ...],
    positive: str | None,
    task: str | None,
    quiet: bool,
    **schedule: Any,
) -> int:
    """Serve a model over HTTP: it predicts, learns rows exactly once, and shows itself on a live page.

    DIR holds a run of `maxloss tail` or of this command, which goes on, or is empty: then --target says what to learn.
    With a SOURCE, its rows are learned at the same time. Exit codes are those of `maxloss tail`.
    """
    from stream_maxloss.serve.server import require_extra

    require_extra()
    messages = Messages(quiet)
    messages.catch_all()
    transport = listening.transport()
    saved = saved_run(directory)
    settings: dict[str, Any] = {"metrics": metrics, "positive": positive, "task": task}
    if saved is not None and columns.target is None and is_left_out("name"):
        made = go_on(directory, bool(schedule["allow_pickle"]))
    else:
        made = begin(source, columns, model, settings, saved, messages)
    made |= {"bad_records": bad.make(), **service.settings(), **schedule}
    if source.sources:
        made["source"] = source.open(made["bad_records"], made["columns"].wanted)
        made["names"] = {"source": source.name}
    return run(directory, made, transport, messages)


def go_on(directory: Path, allow_pickle: bool) -> dict[str, Any]:
    """Return the arguments of a service that goes on as its checkpoint says."""
    from stream_maxloss.run import Columns, load_run

    model, saved, _ = load_run(directory, allow_pickle)
    if saved.get("target") is None or saved.get("delay"):
        raise UsageError(f"{directory} must hold a run with a target and without a delay; begin in another directory")
    columns = Columns(
        saved["target"],
        saved.get("weight"),
        saved.get("slice-by"),
        tuple(saved["features"]),
        tuple(saved["exclude"]),
        key=saved.get("key"),
        time=saved.get("time"),
        keep=tuple(saved.get("keep") or ()),
        # Whoever asks need not say what the rows of the run were known by.
        may_lack=("key", "time", "keep"),
    )
    words = {name: saved.get(name) for name in ("positive", "task")}
    return {"model": model, "columns": columns, "metrics": saved.get("metric"), **words}


def begin(
    source: SourceOptions,
    columns: Columns,
    model: ModelSettings,
    settings: dict[str, Any],
    saved: dict[str, Any] | None,
    messages: Messages,
) -> dict[str, Any]:
    """Return the arguments of a service that the options describe."""
    from stream_maxloss.cli.options.models import build_model

    if columns.target is None:
        raise UsageError("--target must name the label's column of the rows to learn; a DIR with checkpoints knows it")
    task, positive = settings["task"], settings["positive"]
    model = resumed_model(model, saved, is_default=is_left_out("name"))
    require_task(task, positive, model.is_auto, model.takes_classes)
    if model.takes_classes:
        found = resumed_task(saved, task, positive)
        if found is None and not is_settled(saved, task, positive):
            head = read_head(source, columns.wanted) if source.sources else None
            found = choose_task(head, columns.target, positive, task, model.is_auto)
        if found is not None:
            settings |= {"task": found.kind, "metrics": settings["metrics"] or found.metrics}
            if found.reason:
                messages.say(found.reason)
    if not model.is_auto and model.scale is None and source.sources and source.is_sparse:
        model = replace(model, scale=False)
    return {"model": build_model(model, settings["task"]), "columns": columns, **settings}


def run(directory: Path, made: dict[str, Any], transport: Any, messages: Messages) -> int:
    """Serve until a signal; return the exit code."""
    import uvloop

    from stream_maxloss.cli.process.signals import SignalFlags
    from stream_maxloss.run import Schedule
    from stream_maxloss.serve.server import serve as serve_it
    from stream_maxloss.serve.service import Service

    for name in ("checkpoint_every", "report_every"):
        made[name] = Schedule(made[name], f"--{name.replace('_', '-')}")
    service: Service = Service(directory, made.pop("model"), made.pop("columns"), **made)
    with SignalFlags() as flags, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        service.tail.requests = flags
        runner.run(serve_it(service, transport, messages.say))
    return flags.exit_code if flags.stopped else DONE
