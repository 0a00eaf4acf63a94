"""`maxloss schema`: what a source looks like."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from stream_maxloss.cli.options.group import Command
from stream_maxloss.cli.options.intake import intake_options
from stream_maxloss.cli.options.source import SourceOptions, bad_record_options, basic_source_options

__all__ = ["schema"]


@click.command(cls=Command)
@basic_source_options
@click.option("--rows", type=click.IntRange(min=1), default=10_000, help="Rows to look at.")
@click.option("--head", type=click.IntRange(min=0), default=3, help="First values to show of each column.")
@intake_options
@bad_record_options
@click.option("--output", "-o", metavar="text|jsonl", default="text", help="A table, or one JSON object per column.")
def schema(source: SourceOptions, **options: Any) -> None:
    """Show columns, types, nulls and first values of a source, and what a learner makes of each.

    --dates, --text and --schema try out what they would do. Looks at the first rows only. A topic is read from its
    beginning to what it holds now, and its offsets stay as they are.
    """
    from stream_maxloss.cli.reports.columns import run_schema

    run_schema(replace(source, until_eof=True), **options)
