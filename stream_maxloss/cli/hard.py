"""`maxloss hard`: the rows that a model keeps failing on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stream_maxloss.cli.checkpoint_argument import AllowPickleOption, CheckpointArgument

__all__ = ["hard"]


def hard(
    checkpoint: CheckpointArgument,
    count: Annotated[int, typer.Option("-k", "--count", help="How many rows.", min=1)] = 10,
    scaled: Annotated[
        bool, typer.Option("--scaled", help="Show numbers as the model keeps them, standardised.")
    ] = False,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="text|jsonl|parquet", help="Form of the rows.")
    ] = "text",
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write there instead of stdout; Parquet needs it.")
    ] = None,
    allow_pickle: AllowPickleOption = False,
) -> None:
    """Show the rows of the focus's window with the highest weight, hardest first.

    Each with its share of the weight, its loss under the model as it is now, how often it was replayed, and how many
    rows came since. Standardised numbers are turned back by the mean and deviation of now, so they differ a little
    from what came.
    """
    from stream_maxloss.cli.hard_rows import show_hard

    show_hard(checkpoint, count, scaled, output, to, allow_pickle)
