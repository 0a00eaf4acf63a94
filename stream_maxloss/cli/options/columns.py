"""The columns and metrics that the command line names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from stream_maxloss.cli.options.group import grouped
from stream_maxloss.errors import UsageError

if TYPE_CHECKING:
    from stream_maxloss.run import Columns

__all__ = [
    "column_options",
    "join_options",
    "metric_option",
    "positive_option",
    "read_slices",
    "slice_option",
    "slices_option",
    "tail_column_options",
    "target_option",
    "task_option",
]

target_option = click.option("--target", "-t", help="The column to predict.")
positive_option = click.option(
    "--positive", metavar="VALUE", help="The label that counts as positive; all others are negative."
)
task_option = click.option(
    "--task",
    metavar="class|number",
    help="What kind of target auto predicts. Default: from the first 1,000 rows: text is classes (numbers where "
    "it reads like $1,250.50); true/false, 0/1 and "
    "-1/1 are binary; other integers are classes if at most 20 are distinct; anything else is a number.",
)
slice_option = click.option(
    "--slice-by", metavar="COLUMN", help="Score each value of this column separately and name the worst."
)
slices_option = click.option(
    "--slices", metavar="N|all", default="10", help="How many slices to list at the end, worst first."
)
metric_option = click.option(
    "--metric",
    "metrics",
    metavar="NAME[:KEY=VALUE]",
    multiple=True,
    help="A metric of River or ours, in any case (Recall, ROCAUC, MaxLoss, TailLoss:alpha=0.01). "
    "Repeatable, or comma-separated; the first one ranks the slices.",
)


def make_columns(features: Sequence[str], exclude: Sequence[str], keep: Sequence[str] = (), **others: Any) -> Columns:
    """Return which column is what."""
    from stream_maxloss.run.columns import Columns

    chosen, left_out = tuple(split_names(features)), tuple(split_names(exclude))
    return Columns(**others, features=chosen, exclude=left_out, keep=tuple(keep))


def split_names(texts: Sequence[str]) -> list[str]:
    """Return column names given in several options or separated by commas.

    Examples
    --------
    >>> from stream_maxloss.cli.options.columns import split_names
    >>> split_names(["a,b", "c"])
    ['a', 'b', 'c']

    """
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def read_slices(text: str) -> int | None:
    """Return how many slices `--slices` asks for, None for all."""
    if text == "all":
        return None
    if not text.isdigit():
        raise UsageError(f"--slices must be a number or all, got {text!r}")
    return int(text)


def take_columns(context: click.Context, _: click.Parameter, texts: Sequence[str]) -> list[str]:
    """Return the columns of `--keep`; a number is how many checkpoints to keep, as it was in version 0.1."""
    names = split_names(texts)
    counts = [name for name in names if name.isdigit() and int(name)]
    if counts:
        context.meta["checkpoints to keep"] = int(counts[-1])
    return [name for name in names if name not in counts]


join_options = (
    click.option(
        "--key", metavar="COLUMN", help="The column that identifies a row: copied to predictions, not learned from."
    ),
    click.option("--time", metavar="COLUMN", help="The column of timestamps: copied to predictions."),
    click.option(
        "--keep",
        metavar="NAMES",
        multiple=True,
        callback=take_columns,
        help="More columns to copy to predictions, comma-separated. (A number is deprecated: use --keep-checkpoints.)",
    ),
)
"""What predictions carry, so that they can be joined with their rows."""

COLUMNS = (
    target_option,
    click.option("--weight", metavar="COLUMN", help="The column of sample weights."),
    slice_option,
    click.option(
        "--features",
        metavar="NAMES",
        multiple=True,
        help="Columns to learn from, comma-separated. Default: all but target, weight, key and slice.",
    ),
    click.option("--exclude", metavar="NAMES", multiple=True, help="Columns not to learn from."),
)
column_options = grouped("columns", make_columns, *COLUMNS)
"""Which column is what."""

tail_column_options = grouped("columns", make_columns, *COLUMNS, *join_options)
"""The same, with what predictions carry."""
