"""The options that describe a model."""

from __future__ import annotations

import click

from stream_maxloss.cli.options.group import grouped
from stream_maxloss.cli.options.models import LEARNERS, ModelSettings

__all__ = ["model_options", "seed_option"]

seed_option = click.option("--seed", type=int, default=0, help="Random seed.")

model_options = grouped(
    "model",
    ModelSettings,
    click.option(
        "--model",
        "name",
        metavar="NAME|MODULE:FACTORY",
        default="auto",
        help="The model: auto, which handles any target without settings; a learner, one of "
        f"{', '.join(LEARNERS)} (any case); or module:factory for any River model.",
    ),
    click.option(
        "--set",
        "settings",
        metavar="NAME=VALUE",
        multiple=True,
        help="A parameter of auto (compute=least, normal or most), of the learner (lr=0.5), of the focus "
        "(focus.gamma=0.3) or of the scaler (scale.clip=5). May be repeated.",
    ),
    click.option(
        "--focus/--no-focus",
        default=None,
        show_default=False,
        help="Replay the hardest rows of a window. On for our learners, off for other models; auto decides.",
    ),
    click.option("--window", type=click.IntRange(min=1), help="Rows that focus or auto remembers (10000)."),
    click.option("--replays", type=int, help="Replays after each row (about log2 of the window)."),
    click.option("--slack", type=float, help="Total budget for forgiving rows as outliers."),
    click.option("--share", type=float, help="Rate at which focus forgets old weights, 0 to 1."),
    click.option(
        "--scale/--no-scale",
        default=None,
        show_default=False,
        help="Standardise numbers by running mean and deviation. On for our learners except Winnow; off for "
        "sparse rows (svmlight).",
    ),
    seed_option,
    click.option(
        "--certify",
        metavar="EPSILON[,DELTA]",
        help="Learn from mistakes only, and stop once a model is certified to err on at most EPSILON of such rows, "
        "except with probability DELTA (0.05).",
    ),
)
