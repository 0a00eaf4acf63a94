"""Linear learners, and scalers, of several workers made one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.features import FeatureMap
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.class_model import ClassModel
from stream_maxloss.linear.scaler import Scaler
from stream_maxloss.linear.softmax import OWN_PARTS
from stream_maxloss.linear.statistics import COUNT, MEAN, SPREAD

__all__ = ["mix_learners", "mix_scalers"]

Floats = NDArray[np.float64]


def mix_learners(learners: Sequence[Any], shares: Sequence[float]) -> None:
    r"""Set the weights of every learner to $\sum_i a_i w_i$, by the names of features.

    A learner that has not met a feature yet has its last mixed weight, or what a new weight starts with. The lazy scale
    is folded in. Step counters, and what else decides about the next step's size, stay each learner's own.

    Parameters
    ----------
    learners
        Of one kind, with the same settings.
    shares
        What each counts; they add up to 1.

    Raises
    ------
    ValueError
        If two of them have different labels, or the same in another order.

    """
    models = [learner._model for learner in learners]
    if isinstance(models[0], ClassModel):
        labels = [learner._classes.labels for learner in learners]
        if any(found != labels[0] for found in labels):
            raise ValueError(f"workers must have met the same labels in the same order, got {labels!r:.200}")
    share_names(models)
    for model in models:
        fold(model)
    for number in range(len(models[0].initial)):
        vectors = [layout.vector(model.memory, number)[: len(model.features)] for model in models]
        orders = [columns_of(model, models[0]) for model in models]
        mixed = sum(share * vector[order] for share, vector, order in zip(shares, vectors, orders, strict=True))
        for vector, order in zip(vectors, orders, strict=True):
            vector[order] = mixed
    mix_constants(models, shares)


def share_names(models: Sequence[Any]) -> None:
    """Let every model know the features of all."""
    if not isinstance(models[0].features, FeatureMap):
        return  # hashed: the same columns everywhere
    names: dict[Hashable, None] = {}
    for model in models:
        names.update(dict.fromkeys(model.features.names))
    for model in models:
        model.features.add(names)
        model._make_room()


def columns_of(model: Any, first: Any) -> NDArray[np.int64]:
    """Return where a model keeps the features of the first one, in its order."""
    if not isinstance(model.features, FeatureMap):
        return np.arange(len(model.features))
    return np.array([model.features.find(name) for name in first.features.names], dtype=np.int64)


def fold(model: Any) -> None:
    """Make the lazy scale 1."""
    memory = model.memory
    scale = memory[layout.SCALE]
    if scale == 1.0:
        return
    if isinstance(model, ClassModel):
        adaptive = len(model.initial) == 2 * model.room
        for number in range(0, len(model.initial), 2 if adaptive else 1):
            layout.vector(memory, number)[:] *= scale
        constants(model)[1] *= scale
    else:
        layout.vector_v(memory)[:] *= scale
        memory[layout.V_INTERCEPT] *= scale
    memory[layout.SCALE] = 1.0


def constants(model: ClassModel) -> Floats:
    """Return probabilities, constant weights and their squared gradients of each class, one a line."""
    found: Floats = model.memory[-int(model.memory[layout.OWN]) :].reshape(OWN_PARTS, -1)
    return found


def mix_constants(models: Sequence[Any], shares: Sequence[float]) -> None:
    """Mix the weights of the constant feature."""
    if isinstance(models[0], ClassModel):
        mixed = sum(share * constants(model)[1:] for share, model in zip(shares, models, strict=True))
        for model in models:
            constants(model)[1:] = mixed
        return
    place = slice(layout.V_INTERCEPT, layout.U_INTERCEPT + 1)
    mixed = sum(share * model.memory[place] for share, model in zip(shares, models, strict=True))
    for model in models:
        model.memory[place] = mixed
        if model.memory[layout.RADIUS]:
            constant = model.memory[layout.V_INTERCEPT]
            model.memory[layout.NORM] = (
                float(layout.vector_v(model.memory) @ layout.vector_v(model.memory)) + constant**2
            )


def mix_scalers(scalers: Sequence[Scaler], base: Scaler | None) -> None:
    """Set every scaler to the statistics of all values that any of them has seen, each once.

    With `base`, what all had seen when they were mixed last, every scaler is `base` and some values of its own: those
    are found by taking `base` away, and then joined by the formula of Chan, Golub and LeVeque (1979).

    Parameters
    ----------
    scalers
        What to join.
    base
        What they have in common; None for nothing.

    """
    names: dict[Hashable, None] = {}
    for scaler in scalers:
        names.update(dict.fromkeys(scaler._features.names))
    order = list(names)
    common = np.zeros((3, len(order))) if base is None else statistics_of(base, order)
    total = common
    for scaler in scalers:
        total = joined(total, without(statistics_of(scaler, order), common))
    for scaler in scalers:
        scaler._features.add(order)
        scaler._make_room()
        columns = [scaler._features.find(name) for name in order]
        scaler._statistics[:, columns] = total


def statistics_of(scaler: Scaler, names: Sequence[Hashable]) -> Floats:
    """Return count, mean and spread of features, 0 where one was never seen."""
    columns = np.array([scaler._features.find(name) for name in names], dtype=np.int64)
    return np.where(columns >= 0, scaler._statistics[:, columns], 0.0)


def joined(first: Floats, second: Floats) -> Floats:
    """Return the statistics of two sets of values together."""
    count = first[COUNT] + second[COUNT]
    safe = np.where(count > 0, count, 1.0)
    step = second[MEAN] - first[MEAN]
    mean = first[MEAN] + step * second[COUNT] / safe
    spread = first[SPREAD] + second[SPREAD] + step**2 * first[COUNT] * second[COUNT] / safe
    return np.array([count, np.where(count > 0, mean, 0.0), spread])


def without(whole: Floats, part: Floats) -> Floats:
    """Return the statistics of the values that are in the whole and not in a part of it."""
    count = whole[COUNT] - part[COUNT]
    safe = np.where(count > 0, count, 1.0)
    mean = part[MEAN] + (whole[MEAN] - part[MEAN]) * whole[COUNT] / safe
    between = (mean - part[MEAN]) ** 2 * part[COUNT] * count / np.where(whole[COUNT] > 0, whole[COUNT], 1.0)
    spread = np.maximum(whole[SPREAD] - part[SPREAD] - between, 0.0)
    return np.where(count > 0, np.array([count, mean, spread]), 0.0)
