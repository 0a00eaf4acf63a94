"""`maxloss hard`: the rows that a model keeps failing on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from stream_maxloss.cli.options.checkpoint import allow_pickle_option, checkpoint_argument
from stream_maxloss.cli.options.group import Command

__all__ = ["hard"]


@click.command(cls=Command)
@checkpoint_argument
@click.option("-k", "--count", type=click.IntRange(min=1), default=10, help="How many rows.")
@click.option("--scaled", is_flag=True, help="Show numbers as the model keeps them, standardised.")
@click.option("--output", "-o", metavar="text|jsonl|parquet", default="text", help="Output format.")
@click.option(
    "--to",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write there instead of stdout; Parquet needs it.",
)
@allow_pickle_option
def hard(checkpoint: Path, **options: Any) -> None:
    """Show the rows that the model keeps getting wrong, hardest first.

    Each with its share of the weight, its loss under the model as it is now, how often it was replayed, how many rows
    came since, where it came from (file and line, or topic, partition and offset), its key and slice where the run has
    such, and its columns as they were read. Rows of auto come with what speaks for
    their label (+) and against it (-), in log-odds.
    """
    from stream_maxloss.cli.reports.hard_rows import show_hard

    show_hard(checkpoint, **options)
