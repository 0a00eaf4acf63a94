"""`maxloss compare`: several models side by side over one pass of one stream."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stream_maxloss.cli.config import ConfigOption
from stream_maxloss.cli.metrics_option import MetricOption
from stream_maxloss.cli.models import SeedOption
from stream_maxloss.cli.source_options import (
    ExcludeOption,
    FeaturesOption,
    FollowOption,
    FormatOption,
    KafkaConfigOption,
    MaxBadOption,
    OnBadOption,
    SourceArgument,
    SourceSettings,
    UntilEofOption,
    XOption,
    split_names,
)

__all__ = ["compare"]


def compare(
    sources: SourceArgument = None,
    target: Annotated[str | None, typer.Option("--target", "-t", help="The label's column.")] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME[,SETTING...]",
            help="A learner or module:factory with its settings, for instance HingeOGD,no-focus,lr=0.5. Repeat it. "
            "Settings: focus, no-focus, scale, no-scale, window=, replays=, slack=, share=, seed=, and parameters of "
            "the learner. Default: HingeOGD without and with focus.",
        ),
    ] = None,
    positive: Annotated[
        str | None, typer.Option("--positive", metavar="VALUE", help="The label that counts as positive, for text.")
    ] = None,
    weight: Annotated[str | None, typer.Option("--weight", metavar="COLUMN", help="Column of sample weights.")] = None,
    slice_by: Annotated[
        str | None,
        typer.Option("--slice-by", metavar="COLUMN", help="Score by the values of a column and name the worst."),
    ] = None,
    features: FeaturesOption = None,
    exclude: ExcludeOption = None,
    seed: SeedOption = 0,
    metric: MetricOption = None,
    limit: Annotated[int | None, typer.Option("--limit", help="Stop at this many rows.", min=1)] = None,
    format: FormatOption = "auto",
    follow: FollowOption = False,
    until_eof: UntilEofOption = False,
    on_bad: OnBadOption = "fail",
    max_bad: MaxBadOption = None,
    extra: XOption = None,
    kafka_config: KafkaConfigOption = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the first metric over the rows, as PNG.")
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="text|jsonl", help="A table, or one JSON object per model.")
    ] = "text",
    config: ConfigOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No messages, only errors.")] = False,
) -> None:
    """Run several models over one pass of a source, each predicting every row before it learns it.

    Prints for each model its metrics, its worst slice where --slice-by names a column, the seconds it took (compiling
    included) and its memory; and what a constant prediction would have scored.
    """
    from stream_maxloss.cli.compare_run import ComparePlan, run_compare
    from stream_maxloss.cli.row_feed import Columns

    columns = Columns(target, weight, slice_by, tuple(split_names(features)), tuple(split_names(exclude)))
    plan = ComparePlan(
        source=SourceSettings(
            sources or [], format, follow, until_eof, "fail", extra or (), kafka_config, columns.wanted
        ),
        columns=columns,
        models=tuple(models or ()),
        positive=positive,
        metrics=tuple(metric or ()),
        seed=seed,
        limit=limit,
        on_bad=on_bad,
        max_bad=max_bad,
        plot=plot,
        output=output,
        quiet=quiet,
    )
    raise typer.Exit(run_compare(plan))
