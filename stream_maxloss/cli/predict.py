"""`maxloss predict`: what the model of a checkpoint says of each row, without learning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stream_maxloss.cli.config import ConfigOption
from stream_maxloss.cli.metrics_option import MetricOption
from stream_maxloss.cli.source_options import (
    FollowOption,
    FormatOption,
    KafkaConfigOption,
    MaxBadOption,
    OnBadOption,
    SourceArgument,
    SourceSettings,
    UntilEofOption,
    XOption,
)

__all__ = ["predict"]


def predict(
    sources: SourceArgument = None,
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", "-c", metavar="DIR", help="Checkpoints of maxloss tail.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help="The label's column, to score the predictions; left out if not given."),
    ] = None,
    predictions: Annotated[
        str,
        typer.Option("--predictions", "-p", metavar="FILE|kafka://...", help="Where to; - for stdout."),
    ] = "-",
    metric: MetricOption = None,
    slice_by: Annotated[
        str | None, typer.Option("--slice-by", metavar="COLUMN", help="Score by the values of a column.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", help="Stop at this many rows.", min=1)] = None,
    format: FormatOption = "auto",
    follow: FollowOption = False,
    until_eof: UntilEofOption = False,
    on_bad: OnBadOption = "fail",
    max_bad: MaxBadOption = None,
    extra: XOption = None,
    kafka_config: KafkaConfigOption = None,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load a pickled model; only from checkpoints that you wrote.")
    ] = False,
    config: ConfigOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary, only errors.")] = False,
) -> None:
    """Predict every row of a source with the model of the newest checkpoint, and learn nothing.

    Writes one row for each: its number, the label where --target names it, the prediction and the probability. With
    --target, the scores follow on stderr. Rows are read from the beginning each time.
    """
    from stream_maxloss.cli.predict_run import PredictPlan, run_predict

    plan = PredictPlan(
        source=SourceSettings(sources or [], format, follow, until_eof, "fail", extra or (), kafka_config),
        checkpoint=checkpoint,
        target=target,
        predictions=predictions,
        metrics=tuple(metric or ()),
        slice_by=slice_by,
        limit=limit,
        on_bad=on_bad,
        max_bad=max_bad,
        allow_pickle=allow_pickle,
        quiet=quiet,
    )
    raise typer.Exit(run_predict(plan))
