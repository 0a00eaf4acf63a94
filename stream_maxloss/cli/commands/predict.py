"""`maxloss predict`: what the model of a checkpoint says of each row, without learning."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stream_maxloss.cli.exit_codes import DONE
from stream_maxloss.cli.options.checkpoint import allow_pickle_option
from stream_maxloss.cli.options.columns import join_options, metric_option, read_slices, slices_option
from stream_maxloss.cli.options.config import config_option
from stream_maxloss.cli.options.group import Command, grouped
from stream_maxloss.cli.options.source import BadRecordOptions, SourceOptions, bad_record_options, source_options
from stream_maxloss.cli.reports.messages import Messages
from stream_maxloss.errors import UsageError

if TYPE_CHECKING:
    from stream_maxloss.run import Tail

__all__ = ["predict"]


@click.command(cls=Command)
@source_options
@click.option(
    "--checkpoint", "-c", metavar="DIR", type=click.Path(path_type=Path), help="The checkpoints of a maxloss tail run."
)
@click.option("--target", "-t", help="The label's column, to score the predictions.")
@click.option("--predictions", "-p", metavar="FILE|kafka://...", default="-", help="Where to write them; - for stdout.")
@metric_option
@click.option("--slice-by", metavar="COLUMN", help="Score each value of this column separately.")
@slices_option
@grouped("join", dict, *join_options)
@click.option("--limit", type=click.IntRange(min=1), help="Stop at this many rows.")
@bad_record_options
@allow_pickle_option
@config_option
@click.option("--quiet", "-q", is_flag=True, help="No summary, only errors.")
def predict(
    source: SourceOptions,
    bad: BadRecordOptions,
    checkpoint: Path | None,
    target: str | None,
    slice_by: str | None,
    slices: str,
    join: dict[str, Any],
    predictions: str,
    metrics: tuple[str, ...],
    limit: int | None,
    allow_pickle: bool,
    quiet: bool,
) -> int:
    """Predict every row of a source with the model of the newest checkpoint, and learn nothing.

    Writes one row for each: its number, the label where --target names it, the prediction and the probability; for
    several classes also the probability of each, as a JSON object. With --target, the scores follow on stderr. Rows are
    read from the beginning each time.
    """
    from stream_maxloss.cli.options.predicting import predicting_run
    from stream_maxloss.cli.reports.stdout import StdoutSink

    Messages(quiet).catch_all()
    if checkpoint is None:
        raise UsageError("--checkpoint must name a directory of checkpoints; maxloss tail --checkpoint DIR makes one")
    if slice_by is not None and target is None:
        raise UsageError(f"--slice-by must come with --target, got {slice_by!r}; there is nothing to score without")
    run = predicting_run(
        source,
        checkpoint,
        allow_pickle,
        **join,
        target=target,
        slice_by=slice_by,
        metrics=metrics,
        limit=limit,
        bad_records=bad.make(),
        sink=lambda has_key: StdoutSink() if predictions == "-" else source.open_predictions(predictions, has_key),
    )
    return finish(run, target is not None and not quiet, read_slices(slices), quiet)


def finish(run: Tail, scored: bool, most: int | None, quiet: bool) -> int:
    """Predict to the end or until a signal; return the exit code."""
    from stream_maxloss.cli.process.signals import SignalFlags
    from stream_maxloss.cli.reports.plain import summarise
    from stream_maxloss.cli.reports.progress_line import ProgressLine
    from stream_maxloss.cli.reports.stdout import StdoutSink
    from stream_maxloss.run import MissingColumnError
    from stream_maxloss.run.closest import listed

    # Not among predictions on the same terminal.
    hidden = quiet or (isinstance(run.predictions, StdoutSink) and sys.stdout.isatty())
    with run, SignalFlags() as flags, ProgressLine(run.source, hidden) as line:
        run.requests = flags
        line.begin()
        run.on_step = lambda: line.show(run.session.rows)
        try:
            progress = run.run()
        except MissingColumnError as error:
            if error.role != "features":
                raise
            learned = listed(run.columns.features)
            raise UsageError(
                f"the source must have the columns that the model was learned from ({learned}), got: {error}"
            ) from error
        line.close()
        if scored and progress.rows:
            sys.stderr.write(summarise(progress, run.session.board.slice_table(most)) + "\n")
        return flags.exit_code if flags.stopped else DONE
