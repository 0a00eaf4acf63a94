"""`maxloss explain`: what predictions, or the model, are made of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from stream_maxloss.cli.options.checkpoint import allow_pickle_option, checkpoint_argument
from stream_maxloss.cli.options.group import Command, grouped
from stream_maxloss.cli.options.source import BASIC, SourceOptions

__all__ = ["explain"]


@click.command(cls=Command)
@checkpoint_argument
@grouped("source", SourceOptions, *BASIC)
@click.option("--row", metavar="JSON", help="A row to explain, as a JSON object.")
@click.option("--rows", type=click.IntRange(min=1), default=3, help="How many rows of the source to explain.")
@click.option("-k", "--count", type=click.IntRange(min=1), default=10, help="How many contributions to show per row.")
@click.option("--key", metavar="COLUMN", help="Name rows by a column; as in the run if not given.")
@click.option("--output", "-o", metavar="text|jsonl", default="text", help="Text, or one JSON object per row.")
@allow_pickle_option
def explain(checkpoint: Path, source: SourceOptions, **options: Any) -> None:
    """Explain predictions: what each condition adds to a row's score, largest first.

    The rows are one given by --row, or the first ones of a source. With neither, shows what the model is made of. For a
    classifier the score is in log-odds, for a regressor in units of the target. Works for auto (whose parts add up to
    nearly the score: a mixture of probabilities is not linear) and for our linear learners, scaled and focused.
    """
    from stream_maxloss.cli.reports.explanations import show_explanations

    show_explanations(checkpoint, replace(source, until_eof="kafka:" in source.name), **options)
