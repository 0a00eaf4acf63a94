"""The options of a model for each key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stream_maxloss.cli.options.group import grouped
from stream_maxloss.errors import UsageError

if TYPE_CHECKING:
    from stream_maxloss.cli.options.models import ModelSettings

__all__ = ["KeyedOptions", "keyed_options"]

DEFAULTS = {"class": "Logistic", "number": "AbsoluteOGD"}
"""What a key's model is where none is named, by what the target is: small, since there may be many."""


@dataclass(frozen=True)
class KeyedOptions:
    """What the options say about a model for each key.

    Parameters
    ----------
    model_per
        The column, or None for one model of all rows.
    model_memory
        Megabytes of models in memory.
    prior
        Checkpoints of the model that a new key begins with, or None.

    """

    model_per: str | None = None
    model_memory: int = 1024
    prior: Path | None = None

    def choose(self, model: ModelSettings, is_left_out: bool, task: str | None) -> ModelSettings:
        """Return the model of a key: the one that was named, or a small one without a window."""
        if self.model_per is None:
            return model
        if model.certify is not None:
            raise UsageError(f"--certify must not come with --model-per, got {model.certify!r}; certify one model")
        if is_left_out and model.is_auto:
            model = replace(model, name=DEFAULTS.get(task or "binary", "HingeOGD"))
        if not model.is_auto and model.focus is None and model.window is None:
            model = replace(model, focus=False)
        return model

    def wrap(self, model: Any, is_left_out: bool = False) -> Any:
        """Return a model for each key, if that was asked for; that of the prior where none was named.

        Raises
        ------
        UsageError
            If a prior is given without a key, or is another model than the one that was named.

        """
        if self.model_per is None:
            if self.prior is not None:
                raise UsageError(f"--prior must come with --model-per COLUMN, got {str(self.prior)!r} alone")
            return model
        if self.prior is not None:
            model = self._load_prior(self.prior, model, is_left_out)
        from river import base

        from stream_maxloss.keyed import KeyedClassifier, KeyedRegressor

        kind = KeyedClassifier if isinstance(model, base.Classifier) else KeyedRegressor
        return kind(model, self.model_per, self.model_memory << 20)

    def _load_prior(self, prior: Path, model: Any, is_left_out: bool) -> Any:
        from river import base

        from stream_maxloss.checkpoint import CheckpointStore, describe, load
        from stream_maxloss.run.store import find_difference

        if not CheckpointStore(prior).list():
            raise UsageError(
                f"--prior must be a directory of checkpoints, got {str(prior)!r} without one; train a model for it "
                "first: maxloss tail SOURCE --target COLUMN --checkpoint DIR"
            )
        found = load(str(prior))
        if isinstance(found, base.Classifier) != isinstance(model, base.Classifier):
            kinds = ("numbers", "classes") if isinstance(model, base.Classifier) else ("classes", "numbers")
            raise UsageError(
                f"--prior must predict what the target is, got a model of {kinds[0]} in {prior} for {kinds[1]}"
            )
        difference = None if is_left_out else find_difference(describe(found), describe(model), "model")
        if difference is not None:
            what, before, now = difference
            raise UsageError(
                f"--prior must be of the model that is named, got {what} {before} in {prior} and {now} here; leave "
                "out --model and its settings to go on from the one in it"
            )
        return found


keyed_options = grouped(
    "keyed",
    KeyedOptions,
    click.option("--model-per", metavar="COLUMN", help="A separate model for each value of this column."),
    click.option(
        "--model-memory",
        metavar="MB",
        type=click.IntRange(min=1),
        default=1024,
        help="Megabytes of such models to hold in memory; idle ones go to disk.",
    ),
    click.option(
        "--prior",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Checkpoints of a model that each new value starts from, instead of --model.",
    ),
)
