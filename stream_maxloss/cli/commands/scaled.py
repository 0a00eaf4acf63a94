"""`maxloss tail --ray`: a run cut into shards, on several workers."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream_maxloss.cli.exit_codes import DONE
from stream_maxloss.cli.options.columns import read_slices
from stream_maxloss.cli.options.scale import WORKERS, ScaleOptions
from stream_maxloss.cli.process.signals import SignalFlags
from stream_maxloss.cli.reports.base import make_report
from stream_maxloss.errors import UsageError

if TYPE_CHECKING:
    from stream_maxloss.cli.commands.tail import CheckpointOptions, ReportOptions
    from stream_maxloss.cli.options.source import BadRecordOptions, SourceOptions
    from stream_maxloss.cli.reports.messages import Messages
    from stream_maxloss.run import Columns

__all__ = ["make_job", "run_on_ray"]


def make_job(
    source: SourceOptions,
    model: Any,
    columns: Columns,
    bad: BadRecordOptions,
    checkpoints: CheckpointOptions,
    scale: ScaleOptions,
    predictions: str | None,
    text_limit: int | None,
    types: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Any:
    """Return the job that the options describe."""
    from stream_maxloss.scale.shards.job import Job

    if checkpoints.checkpoint is None:
        raise UsageError("--ray must come with --checkpoint DIR, where all machines of the cluster see it, got none")
    partitioned = "partitions" in source.traits.options
    return Job(
        absolute(source.sources[0]) if len(source.sources) == 1 else [absolute(name) for name in source.sources],
        model,
        columns,
        checkpoints.checkpoint.absolute(),
        per=columns.model_per or (None if partitioned else columns.key),
        shards=scale.shards,
        source_options=source.open_arguments(types),
        options={
            "checkpoint_every": checkpoints.checkpoint_every,
            "keep": checkpoints.keep_checkpoints,
            "allow_pickle": checkpoints.allow_pickle,
            **options,
        },
        predictions=None if predictions is None else absolute(predictions),
        prediction_options={} if predictions is None else source.sink_arguments(predictions, columns.key is not None),
        on_bad=bad.on_bad if not bad.on_bad.startswith("dlq=") else f"dlq={absolute(bad.on_bad[4:])}",
        max_bad=bad.max_bad,
        text_limit=text_limit,
    )


def absolute(name: str) -> str:
    """Return a path as every worker finds it, wherever it runs; an address, or standard input, as it is."""
    return name if "://" in name or name == "-" else str(Path(name).absolute())


def run_on_ray(job: Any, scale: ScaleOptions, fresh: bool, reports: ReportOptions, messages: Messages) -> int:
    """Run a job to its end or a signal; return the exit code."""
    from stream_maxloss.run import Schedule
    from stream_maxloss.scale.ray.driver import RayRun

    schedule = Schedule(reports.report_every, "--report-every")
    run = RayRun(
        job, scale.workers or WORKERS, scale.ray or "local", report_every=schedule, fresh=fresh, say=messages.say
    )
    most = read_slices(reports.slices)
    has_slices = run.job.roles.slice_by is not None
    with (
        run,
        contextlib.closing(make_report(reports.quiet, reports.output, has_slices)) as report,
        SignalFlags(report.leave_at_once) as flags,
    ):
        run.requests = flags
        shards = len(run.directory.shards)
        each = "a model of its own" if job.roles.model_per is None else f"the models of its {job.roles.model_per}"
        messages.say(f"{shards} shards, each with {each}, on {len(run.crew.pids)} workers")
        for progress in run:
            report.report(progress)
        merged = run.merge()
        table = None
        if merged.report is not None:
            table = "\n".join([merged.report.table(most), merged.report.rule, *merged.report.verdict()])
        report.finish(merged.progress, merged.slices if reports.output == "jsonl" else table)
    return flags.exit_code if flags.stopped else DONE
