"""The parts of a model that have something to show: the focus with its hardest rows, the experts, the scaler."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from stream_maxloss.run.certificate import inner_model

if TYPE_CHECKING:
    from stream_maxloss.focus.hard_row import HardRow
    from stream_maxloss.mixture.hard import HardRow as AutoRow

__all__ = ["auto_part", "find_scaler", "focused_part", "hard_row", "unscale"]

# Reasons of a row of `auto` that are told.
REASONS = 10


def focused_part(model: Any) -> Any | None:
    """Return the focused estimator of a model or pipeline, or None.

    Examples
    --------
    >>> from stream_maxloss.focus import FocusedClassifier
    >>> from stream_maxloss.linear import HingeOGD, Scaler
    >>> from stream_maxloss.run.parts import focused_part
    >>> type(focused_part(Scaler() | FocusedClassifier(HingeOGD(), window=100))).__name__
    'FocusedClassifier'
    >>> focused_part(HingeOGD()) is None
    True

    """
    model = inner_model(model)
    last = model._last_step if hasattr(model, "_last_step") else model
    return last if hasattr(last, "hardest") and auto_part(last) is None else None


def auto_part(model: Any) -> Any | None:
    """Return the model if it is one of `auto`, also where a certificate is to be earned, else None."""
    found = inner_model(model)
    return found if type(found).__name__ in ("AutoClassifier", "AutoRegressor") else None


def find_scaler(model: Any) -> Any | None:
    """Return the scaler in front of a focus, or None."""
    from stream_maxloss.linear import Scaler

    steps = getattr(model, "steps", {})
    return next((step for step in steps.values() if isinstance(step, Scaler)), None)


def unscale(x: dict[Any, Any], scaler: Any) -> dict[Any, Any]:
    """Return a row as it was before it was standardised, by the current mean and deviation.

    Mean and deviation have moved since the row came, so digits below a thousandth of the deviation are rounded away.

    Examples
    --------
    >>> from stream_maxloss.run.parts import unscale
    >>> from stream_maxloss.linear import Scaler
    >>> scaler = Scaler()
    >>> for size in (1.0, 2.0, 3.0):
    ...     scaler.learn_one({"size": size})
    >>> unscale({"size": scaler.transform_one({"size": 3.0})["size"], "shape=round": 1.0}, scaler)
    {'size': 3.0, 'shape=round': 1.0}

    """
    means, variances = scaler.means, scaler.variances
    row = dict(x)
    for name in means.keys() & x.keys():
        deviation = math.sqrt(variances[name])
        digits = 2 - math.floor(math.log10(deviation)) if deviation else 15
        row[name] = round(x[name] * deviation + means[name], digits) + 0.0  # no negative zero
    return row


def hard_row(row: HardRow | AutoRow, scaler: Any | None) -> dict[str, Any]:
    """Return one of the hardest rows as plain values, its numbers unscaled where there is a scaler."""
    x = row.x if scaler is None else unscale(row.x, scaler)
    return {
        "loss": row.loss,
        "weight": row.weight,
        "probability": row.probability,
        # Not counted by `auto`, which tells instead what speaks for and against the label.
        "replays": getattr(row, "replays", None),
        "age": row.age,
        "y": row.y,
        "w": row.w,
        "x": {str(name): value for name, value in x.items()},
        **({"reasons": [asdict(part) for part in row.reasons[:REASONS]]} if hasattr(row, "reasons") else {}),
    }
