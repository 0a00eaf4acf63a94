"""`maxloss tail`: predict, score, then learn every row of a source."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stream_maxloss.cli.certify import CertifyOption
from stream_maxloss.cli.config import ConfigOption
from stream_maxloss.cli.metrics_option import MetricOption
from stream_maxloss.cli.models import (
    FocusOption,
    ModelOption,
    ModelSettings,
    ReplaysOption,
    ScaleOption,
    SeedOption,
    SetOption,
    ShareOption,
    SlackOption,
    WindowOption,
)
from stream_maxloss.cli.source_options import (
    ExcludeOption,
    FeaturesOption,
    FollowOption,
    FormatOption,
    KafkaConfigOption,
    MaxBadOption,
    OnBadOption,
    OnGapOption,
    SourceArgument,
    SourceSettings,
    UntilEofOption,
    XOption,
    split_names,
)

__all__ = ["tail"]


def tail(
    sources: SourceArgument = None,
    target: Annotated[str | None, typer.Option("--target", "-t", help="The label's column.")] = None,
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
    model: ModelOption = "HingeOGD",
    settings: SetOption = None,
    focus: FocusOption = None,
    window: WindowOption = None,
    replays: ReplaysOption = None,
    slack: SlackOption = None,
    share: ShareOption = None,
    scale: ScaleOption = None,
    seed: SeedOption = 0,
    certify: CertifyOption = None,
    metric: MetricOption = None,
    delay: Annotated[int, typer.Option("--delay", help="Rows until a label is known.", min=0)] = 0,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Stop at this many rows in all, a resumed run's included.", min=1)
    ] = None,
    format: FormatOption = "auto",
    follow: FollowOption = False,
    until_eof: UntilEofOption = False,
    on_bad: OnBadOption = "fail",
    max_bad: MaxBadOption = None,
    on_gap: OnGapOption = "fail",
    extra: XOption = None,
    kafka_config: KafkaConfigOption = None,
    predictions: Annotated[
        str | None,
        typer.Option("--predictions", "-p", metavar="FILE|kafka://...", help="Write what was predicted for each row."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", "-c", metavar="DIR", help="Keep checkpoints here, and go on from the last one."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Go on from the last checkpoint, or set it aside and start over.")
    ] = True,
    checkpoint_every: Annotated[
        str, typer.Option("--checkpoint-every", metavar="ROWS|SECONDSs", help="How often to write one.")
    ] = "5s",
    keep: Annotated[int, typer.Option("--keep", help="How many checkpoints to keep.", min=1)] = 3,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Pickle a model that is not ours; load only your own checkpoints.")
    ] = False,
    output: Annotated[str, typer.Option("--output", "-o", metavar="text|jsonl", help="Form of the reports.")] = "text",
    report_every: Annotated[
        str, typer.Option("--report-every", metavar="ROWS|SECONDSs|FACTORx", help="How often to report.")
    ] = "2x",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read some rows, say what would be done, and write nothing.")
    ] = False,
    config: ConfigOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No reports, only errors.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Tell of every checkpoint.")] = False,
) -> None:
    """Predict, score, then learn every row of a source, and show how it goes.

    Reports go to stdout, messages to stderr. On a terminal the reports are a live view. Exit codes: 0 done or stopped
    by SIGTERM, 1 failed, 2 wrong usage, 3 bad data, 4 checkpoint unusable, 5 source unavailable or with a gap, 130
    interrupted.
    """
    from stream_maxloss.cli.row_feed import Columns
    from stream_maxloss.cli.tail_run import TailPlan, run_tail

    columns = Columns(target, weight, slice_by, tuple(split_names(features)), tuple(split_names(exclude)))
    source = SourceSettings(sources or [], format, follow, until_eof, on_gap, extra or (), kafka_config, columns.wanted)
    if scale is None and source.is_sparse:
        scale = False
    plan = TailPlan(
        source=source,
        columns=columns,
        model=ModelSettings(model, settings or (), focus, window, replays, slack, share, scale, seed, certify),
        positive=positive,
        metrics=tuple(metric or ()),
        delay=delay,
        limit=limit,
        on_bad=on_bad,
        max_bad=max_bad,
        predictions=predictions,
        checkpoint=checkpoint,
        fresh=not resume,
        checkpoint_every=checkpoint_every,
        keep=keep,
        allow_pickle=allow_pickle,
        output=output,
        report_every=report_every,
        dry_run=dry_run,
        quiet=quiet,
        verbose=verbose,
    )
    sys.stdout.flush()
    raise typer.Exit(run_tail(plan))
