"""What experts say of rows, as one array: a row of it for each row, a column for each class."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base, compose

from stream_maxloss.classes import Classes
from stream_maxloss.focus.focused import predicts_probabilities
from stream_maxloss.labels import SIGNS
from stream_maxloss.protocol import Answers

__all__ = ["check_experts", "expert_name", "learn_weighed", "said_of_row", "said_of_rows", "seen_before"]

Floats = NDArray[np.float64]


def check_experts(experts: Any) -> None:
    """Raise unless these are some classifiers with probabilities."""
    if not isinstance(experts, Sequence) or not len(experts):
        raise TypeError(f"experts must be a list of at least one classifier, got {experts!r:.100}")
    for expert in experts:
        if not (isinstance(expert, base.Classifier) and predicts_probabilities(expert)):
            raise TypeError(
                f"an expert must be a River classifier with probabilities, got {expert!r:.100}; only those can be mixed"
            )


def expert_name(expert: Any) -> str:
    """Return the class of an expert, or those of the steps of a pipeline.

    Examples
    --------
    >>> from stream_maxloss.experts.opinions import expert_name
    >>> from stream_maxloss.linear import Logistic, Scaler
    >>> expert_name(Scaler() | Logistic())
    'Scaler | Logistic'

    """
    if isinstance(expert, compose.Pipeline):
        return " | ".join(expert_name(step) for step in expert.steps.values())
    inside = f"({expert_name(expert._wrapped_model)})" if isinstance(expert, base.Wrapper) else ""
    return type(expert).__name__ + inside


def learn_weighed(expert: Any, x: dict[Hashable, Any], y: Any, w: float) -> None:
    """Let an expert learn a row, with its sample weight if it takes one."""
    # A pipeline hands the weight to those of its steps that take it.
    if isinstance(expert, compose.Pipeline) or takes_weights(expert):
        expert.learn_one(x, y, w=w)
    else:
        expert.learn_one(x, y)


def takes_weights(expert: Any) -> bool:
    """Return whether `learn_one` takes a sample weight."""
    parameters = inspect.signature(expert.learn_one).parameters
    return "w" in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def seen_before(numbers: NDArray[np.int64], known: int, classes: Classes) -> NDArray[np.int64]:
    """Return how many classes had come before each row, `known` before the first."""
    counts = np.maximum.accumulate(np.concatenate([[known], numbers + 1]))
    if len(classes) and isinstance(classes.labels[0], bool):
        # The first boolean stands for both.
        counts[1:] = np.maximum(counts[1:], 2)
    return counts[:-1].astype(np.int64)


def binary_pair(classes: Classes) -> tuple[int, int] | None:
    """Return the numbers of the negative and the positive one of the first two labels, if they are binary ones."""
    first = classes.labels[:2]
    if len(first) < 2 or not all(label in SIGNS for label in first):
        return None
    return (1, 0) if first[0] == 1 else (0, 1)


def said_of_row(said: Sequence[Mapping[Hashable, float]], classes: Classes) -> Floats:
    """Return (1, experts, classes) what the experts say of a row; zeros where one says nothing."""
    found = np.zeros((1, len(said), len(classes)))
    for k, probabilities in enumerate(said):
        for number, label in enumerate(classes.labels):
            # The binary learners answer -1 as False.
            p = probabilities.get(label, probabilities.get(False, 0.0) if label == -1 else 0.0)
            found[0, k, number] = p
    pair = binary_pair(classes) if len(classes) == 2 else None
    if pair is not None:
        negative, positive = pair
        some = found[0].any(axis=1)
        found[0, some, negative] = 1.0 - found[0, some, positive]
    return found


def said_of_rows(answers: Sequence[Answers], rows: int, counts: NDArray[np.int64], classes: Classes) -> Floats:
    """Return (rows, experts, classes) what native experts say of the rows of a batch.

    Of two binary labels the answers have the probability of the positive one, so that of the other one follows from it
    here and for single rows: the same bits.
    """
    found = np.zeros((rows, len(answers), len(classes)))
    pair = binary_pair(classes)
    for k, answer in enumerate(answers):
        said: Any = answer.probabilities
        if answer.classes is None:
            for number, label in enumerate(classes.labels):
                found[:, k, number] = said if SIGNS.get(label) == 1.0 else 1.0 - said
        else:
            for label, column in zip(answer.classes, said.T, strict=True):
                place = classes.find(label)
                if place is not None:
                    found[:, k, place] = column
    if pair is not None:
        negative, positive = pair
        two = counts == 2
        found[two, :, negative] = 1.0 - found[two, :, positive]
    return found
