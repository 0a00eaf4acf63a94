"""Which models can be mixed, and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stream_maxloss.errors import ModelError, UsageError
from stream_maxloss.expand import Bins, Ferns
from stream_maxloss.focus import FocusedClassifier, FocusedRegressor
from stream_maxloss.linear import LLD, AbsoluteOGD, HingeOGD, Logistic, Pegasos, Perceptron, Scaler
from stream_maxloss.linear.merging import mix_learners, mix_scalers

__all__ = ["mix", "require_mergeable"]

MERGEABLE = (AbsoluteOGD, HingeOGD, LLD, Logistic, Pegasos, Perceptron)
NAMES = ", ".join(kind.__name__ for kind in MERGEABLE)


def steps_of(model: Any) -> list[Any]:
    """Return the steps of a pipeline, or the model alone."""
    return list(model.steps.values()) if hasattr(model, "steps") else [model]


def learner_of(step: Any) -> Any:
    """Return the learner inside a focus, or the step itself."""
    if isinstance(step, FocusedClassifier):
        return step.classifier
    return step.regressor if isinstance(step, FocusedRegressor) else step


def require_mergeable(model: Any) -> None:
    """Refuse a model whose copies have no sensible average.

    Experts of `auto` teach themselves ferns that differ from worker to worker, multiplicative weights and averaged
    iterates have no mean that a worker could go on from, and nothing is known of models that are not ours.

    Raises
    ------
    UsageError
        With the part that cannot be mixed.

    Examples
    --------
    >>> from stream_maxloss.linear import HingeOGD, Scaler, Winnow
    >>> from stream_maxloss.mixing import require_mergeable
    >>> require_mergeable(Scaler() | HingeOGD())
    >>> require_mergeable(Winnow())
    Traceback (most recent call last):
    ...
    stream_maxloss.errors.UsageError: --mix-every must come with a learner that can be averaged, got Winnow; ...

    """
    *before, last = steps_of(model)
    learner = learner_of(last)
    strange = [step for step in before if not isinstance(step, Scaler | Bins | Ferns)]
    if not strange and isinstance(learner, MERGEABLE) and not getattr(learner, "averaged", False):
        return
    name = type(strange[0] if strange else learner).__name__
    name += " with averaged iterates" if getattr(learner, "averaged", False) and not strange else ""
    raise UsageError(
        f"--mix-every must come with a learner that can be averaged, got {name}; use --model HingeOGD or another of "
        f"{NAMES}, or a model for each key, which is exact"
    )


def mix(models: Sequence[Any], base: Any, shares: Sequence[float]) -> None:
    """Make copies of one model, which have learned different rows since, equal but for their windows and counters.

    Parameters
    ----------
    models
        The workers' models, changed in place.
    base
        The model as it was mixed last; None where they have nothing in common.
    shares
        What the weights of each count; they add up to 1.

    Raises
    ------
    ModelError
        If their leaves have different thresholds, or their labels differ.

    """
    rows = list(zip(*(steps_of(model) for model in models), strict=True))
    bases = [None] * len(rows) if base is None else steps_of(base)
    for same, first in zip(rows, bases, strict=True):
        if isinstance(same[0], Scaler):
            mix_scalers(list(same), first)
        elif isinstance(same[0], Bins | Ferns):
            require_same_leaves(same)
        else:
            try:
                mix_learners([learner_of(step) for step in same], shares)
            except ValueError as error:
                raise ModelError(f"models must fit together to be mixed: {error}; use a model for each key") from error


def require_same_leaves(steps: Sequence[Any]) -> None:
    """Refuse leaves that mean something else from worker to worker."""
    told = [{name: step.state_dict().get(name) for name in ("edges", "tests")} for step in steps]
    if any(repr(found) != repr(told[0]) for found in told):
        raise ModelError(
            f"{type(steps[0]).__name__} of all workers must have the same thresholds to be mixed, got different ones, "
            "as from a column that only some have met; mix less early (--mix-every), or use a model for each key"
        )
