"""Reading the two labels of a binary stream: bool, 0/1 and -1/+1 alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["are_positive", "is_positive"]


def is_positive(label: Any) -> bool:
    """Return whether a binary label is the positive one.

    Examples
    --------
    >>> from stream_maxloss.metrics.binary import is_positive
    >>> is_positive(1), is_positive(-1), is_positive(False)
    (True, False, False)

    """
    if label == 1:
        return True
    if label in (0, -1):
        return False
    raise ValueError(f"label must be a bool, 0/1 or -1/+1, got {label!r}; map other labels to True and False first")


def are_positive(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return, for each binary label of an array, whether it is the positive one."""
    if labels.dtype == np.bool_:
        return labels
    positive = np.asarray(labels == 1, dtype=np.bool_)
    known = positive | (labels == 0) | (labels == -1)
    if not known.all():
        is_positive(labels[~known][:1].tolist()[0])
    return positive
