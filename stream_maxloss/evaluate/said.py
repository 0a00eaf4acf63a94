"""What was said of rows when they were asked for, in the place of what a model says by the time that it learns them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from stream_maxloss.evaluate.engine import Scored

__all__ = ["said_at_first"]


def said_at_first(scored: Scored, said: Iterable[dict[str, Any] | None]) -> Scored:
    """Return scores with the first answers where there are any.

    Parameters
    ----------
    scored
        What the model says now.
    said
        For each row None, or what was answered: `prediction`, and where the model has such `probability` (of True, or
        of the predicted class) and `probabilities` by the name of the class.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.evaluate.engine import Scored
    >>> from stream_maxloss.evaluate.said import said_at_first
    >>> now = Scored([True, True], np.array([True, True]), np.array([0.75, 0.5]))
    >>> first = said_at_first(now, [{"prediction": False, "probability": 0.25}, None])
    >>> first.y_pred, first.probabilities
    (array([False,  True]), array([0.25, 0.5 ]))

    """
    known = [(row, found) for row, found in enumerate(said) if found is not None and found["prediction"] is not None]
    if not known:
        return scored
    if scored.answers is not None:
        answers = list(scored.answers)
        for row, found in known:
            answers[row] = as_answer(answers[row], found)
        return replace(scored, answers=answers)
    y_pred = None if scored.y_pred is None else np.array(scored.y_pred)
    shares = None if scored.probabilities is None else np.array(scored.probabilities)
    for row, found in known:
        if y_pred is not None:
            y_pred[row] = found["prediction"]
        if shares is not None and scored.classes is not None:
            named = found.get("probabilities") or {}
            shares[row] = [named.get(str(name), 0.0) for name in scored.classes]
        elif shares is not None and found.get("probability") is not None:
            shares[row] = found["probability"]
    return replace(scored, y_pred=y_pred, probabilities=shares)


def as_answer(now: Any, found: dict[str, Any]) -> Any:
    """Return the first answer in the form of the one of now: a label, or the probability of each."""
    if not isinstance(now, dict):
        return found["prediction"]
    if "probabilities" not in found:
        share = found.get("probability", float(bool(found["prediction"])))
        return {True: share, False: 1.0 - share}
    return {label: found["probabilities"].get(str(label), 0.0) for label in now}
