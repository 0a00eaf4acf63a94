"""`maxloss inspect`: what a checkpoint holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from stream_maxloss.cli.options.checkpoint import allow_pickle_option, checkpoint_argument
from stream_maxloss.cli.options.group import Command

__all__ = ["inspect"]


@click.command(cls=Command)
@checkpoint_argument
@click.option("-k", "--count", type=click.IntRange(min=0), default=10, help="How many of the largest weights.")
@click.option("--output", "-o", metavar="text|jsonl", default="text", help="Text, or one JSON object.")
@allow_pickle_option
def inspect(checkpoint: Path, **options: Any) -> None:
    """Show what a checkpoint holds: the model, its largest weights, the window, the scores, positions and counters."""
    from stream_maxloss.cli.reports.checkpoint import run_inspect

    run_inspect(checkpoint, **options)
