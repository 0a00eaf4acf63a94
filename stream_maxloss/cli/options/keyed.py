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

    def wrap(self, model: Any) -> Any:
        """Return a model for each key, if that was asked for.

        Raises
        ------
        UsageError
            If a prior is given without a key, or of another kind than the model.

        """
        if self.model_per is None:
            if self.prior is not None:
                raise UsageError(f"--prior must come with --model-per COLUMN, got {str(self.prior)!r} alone")
            return model
        from river import base

        from stream_maxloss.keyed import KeyedClassifier, KeyedRegressor

        kind = KeyedClassifier if isinstance(model, base.Classifier) else KeyedRegressor
        template = model if self.prior is None else self._load_prior(model)
        return kind(template, self.model_per, self.model_memory << 20)

    def _load_prior(self, model: Any) -> Any:
        from stream_maxloss.checkpoint import describe, load
        from stream_maxloss.run.store import find_difference

        found = load(str(self.prior))
        difference = find_difference(describe(found), describe(model), "model")
        if difference is not None:
            what, before, now = difference
            raise UsageError(
                f"--prior must be of the model that keys get, got {what} {before} in {self.prior} where it is {now} "
                "here; name the model with the settings that it was trained with"
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
        help="Checkpoints of a model that each new value starts from.",
    ),
)
