"""`maxloss inspect`: what a checkpoint holds."""

from __future__ import annotations

from typing import Annotated

import typer

from stream_maxloss.cli.checkpoint_argument import AllowPickleOption, CheckpointArgument

__all__ = ["inspect"]


def inspect(
    checkpoint: CheckpointArgument,
    count: Annotated[int, typer.Option("-k", "--count", help="How many of the largest weights.", min=0)] = 10,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="text|jsonl", help="Lines for people, or one JSON object.")
    ] = "text",
    allow_pickle: AllowPickleOption = False,
) -> None:
    """Show what a checkpoint holds: the model, its largest weights, the window, the scores, positions and counters."""
    from stream_maxloss.cli.inspect_run import run_inspect

    run_inspect(checkpoint, count, output, allow_pickle)
