"""`maxloss schema`: what a source looks like."""

from __future__ import annotations

from typing import Annotated

import typer

from stream_maxloss.cli.source_options import (
    FormatOption,
    KafkaConfigOption,
    MaxBadOption,
    OnBadOption,
    SourceArgument,
    SourceSettings,
    XOption,
)

__all__ = ["schema"]


def schema(
    sources: SourceArgument = None,
    rows: Annotated[int, typer.Option("--rows", help="Rows to look at.", min=1)] = 10_000,
    head: Annotated[int, typer.Option("--head", help="First values to show of each column.", min=0)] = 3,
    format: FormatOption = "auto",
    on_bad: OnBadOption = "fail",
    max_bad: MaxBadOption = None,
    extra: XOption = None,
    kafka_config: KafkaConfigOption = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="text|jsonl", help="A table, or one JSON object per column.")
    ] = "text",
) -> None:
    """Show columns, types, nulls and first values of a source, as a learner would get them.

    Looks at the first rows only. A topic is read from its beginning to what it holds now, and its offsets stay as they
    are.
    """
    from stream_maxloss.cli.schema_run import run_schema

    settings = SourceSettings(
        sources or [],
        format,
        until_eof=any(source.startswith("kafka://") for source in sources or []),
        extra=extra or (),
        kafka_config=kafka_config,
    )
    run_schema(settings, rows, head, on_bad, max_bad, output)
