"""Any model that has an ONNX form, with its inputs and outputs."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stream_maxloss.errors import UsageError
from stream_maxloss.experts.sharing import FLOOR
from stream_maxloss.run.certificate import promoted
from stream_maxloss.run.onnx.auto import Auto
from stream_maxloss.run.onnx.features import Binned, Features, Ferny, Inputs, Scaled
from stream_maxloss.run.onnx.graph import Graph

__all__ = ["Exported", "onnx_model"]


@dataclass(frozen=True)
class Exported:
    """A model as ONNX.

    Parameters
    ----------
    data
        The bytes of a file.
    made
        Inputs that are no column of the source, but made of one: the parts of a date, the length of a text.
    words
        Inputs that are the words of a text, or the texts of a list.

    """

    data: bytes
    made: list[str]
    words: list[str]


@dataclass(frozen=True)
class Said:
    """What a part of a graph says: probabilities [rows, classes] of labels, or a number [rows]."""

    tensor: str
    labels: list[Hashable] | None


def onnx_model(model: Any, numbers: Iterable[str], texts: dict[str, int | None]) -> Exported:
    """Return a model as ONNX: linear learners, scaled, focused, behind bins or ferns; mixtures of them; `auto`.

    Inputs are doubles of shape `[rows, 1]`, NaN where one is missing, and texts of shape `[rows, texts of the row]`,
    empty where one is missing. Outputs are `label` and `probabilities` (and `probability`, of the positive one, where
    labels are binary), or `value`, of shape `[rows]`.

    Parameters
    ----------
    model
        The model.
    numbers
        Columns that are numbers or flags.
    texts
        Columns of text: how many texts a row has of each, None for any number.

    Raises
    ------
    UsageError
        If there is no such form of it.
    MissingExtraError
        If onnx is not installed.

    Examples
    --------
    >>> from stream_maxloss.expand import Bins
    >>> from stream_maxloss.linear import Perceptron
    >>> from stream_maxloss.run.onnx import onnx_model
    >>> model = Bins(rows=2) | Perceptron()
    >>> for size in range(4):
    ...     model.learn_one({"size": size}, size > 1)
    >>> len(onnx_model(model, ["size"], {}).data) > 100
    True

    """
    known = list(numbers)
    graph = Graph()
    said = opinion(promoted(model), Inputs(graph, known, texts))
    metadata = {} if said.labels is None else finish_classes(graph, said, said.labels)
    if said.labels is None:
        graph.output("value", said.tensor, np.float64)
    names = [part.name for part in graph.inputs]
    made = [name for name in names if name not in known and name not in texts]
    words = [name for name in names if name in texts and texts[name] is None]
    return Exported(graph.to_bytes(metadata), made, words)


def finish_classes(graph: Graph, said: Said, labels: list[Hashable]) -> dict[str, str]:
    """Add the outputs of a classifier; return what a reader should know of them."""
    likeliest = graph.node("ArgMax", said.tensor, axis=1, keepdims=0)
    if all(isinstance(label, bool) for label in labels):
        kind: Any = np.bool_
    elif all(isinstance(label, int) for label in labels):
        kind = np.int64
    else:
        kind = np.object_
    values = [label if kind is not np.object_ else str(label) for label in labels]
    graph.output("label", graph.node("Gather", graph.constant(values, kind), likeliest, axis=0), kind)
    graph.output("probabilities", said.tensor, np.float64, len(labels))
    if len(labels) == 2 and 1 in labels:
        positive = graph.pick(said.tensor, [labels.index(1)])
        graph.output("probability", graph.reshape(positive, -1), np.float64)
    return {"classes": json.dumps(labels, default=str)}


def opinion(model: Any, features: Features) -> Said:
    """Return what a model says of features."""
    from stream_maxloss.expand import Bins, Ferns
    from stream_maxloss.experts import Mixture
    from stream_maxloss.linear import Scaler
    from stream_maxloss.linear.learner import Learner
    from stream_maxloss.mixture import AutoClassifier, AutoRegressor

    for kind, reading in ((Scaler, Scaled), (Bins, Binned), (Ferns, Ferny)):
        if hasattr(model, "steps") and isinstance(next(iter(model.steps.values())), kind):
            first, *rest = model.steps.values()
            return opinion(rest[0] if len(rest) == 1 else joined(rest), reading(first, features))
    if isinstance(model, AutoRegressor):
        return Said(Auto(model._model, features).number(), None)
    if isinstance(model, AutoClassifier):
        require_classes(model.classes)
        return Said(Auto(model._model, features).probabilities(), list(model.classes))
    if isinstance(model, Mixture):
        return mixed(model, features)
    if isinstance(model, Learner):
        return linear(model, features)
    if hasattr(model, "hardest") and getattr(model, "output", "last") == "last":
        return opinion(model._wrapped_model, features)
    raise refused(model)


def joined(steps: list[Any]) -> Any:
    """Return a pipeline of what is left of one."""
    from river import compose

    return compose.Pipeline(*steps)


def refused(model: Any) -> UsageError:
    """Return the error for a model that has no ONNX form."""
    if getattr(model, "output", "last") != "last":
        return UsageError(f"--to onnx must come with a focus of output 'last', got {model.output!r}; use --to json")
    steps = list(model.steps.values()) if hasattr(model, "steps") else [model]
    names = " | ".join(type(step).__name__ for step in steps)
    return UsageError(
        f"--to onnx must come with auto, a linear learner, bins, ferns or a mixture of them, got {names}; use --to json"
    )


def require_classes(classes: list[Hashable]) -> None:
    """Raise unless there is something to tell apart."""
    if len(classes) < 2:
        raise UsageError(f"--to onnx must come with two classes or more, got {classes!r}; learn some rows first")


def linear(learner: Any, features: Features) -> Said:
    """Return what a linear learner says: the probabilities of its classes, or a number."""
    from river import base

    from stream_maxloss.linear.class_learner import ClassLearner

    if not learner._model.features.grows:
        raise UsageError("--to onnx must come with features by name, got hashed ones; use --to json")
    graph = features.graph
    if isinstance(learner, ClassLearner):
        return classes_of(learner, features)
    offset = float(learner._model.score({}))
    score = scores_of(features, {str(name): [float(weight)] for name, weight in learner.weights.items()}, [offset])
    if isinstance(learner, base.Classifier):
        share = graph.node("Sigmoid", score)
        other = graph.node("Sigmoid", graph.node("Neg", score))
        # The first one counts where both are equal, and a score of 0 is True.
        return Said(graph.node("Concat", share, other, axis=1), [True, False])
    low, high = getattr(learner, "low", None), getattr(learner, "high", None)
    score = graph.reshape(score, -1)
    if low is None and high is None:
        return Said(score, None)
    return Said(graph.clip(score, -np.inf if low is None else low, np.inf if high is None else high), None)


def classes_of(learner: Any, features: Features) -> Said:
    """Return what a learner of any number of classes says: of two they share one score, the second's."""
    graph, labels = features.graph, list(learner.classes)
    require_classes(labels)
    model, names = learner._model, learner._model.features.names
    found = [model.class_weights(k) for k in range(len(labels) if len(labels) > 2 else 1)]
    columns = np.array([weights[: len(names)] for weights, _ in found]).T
    weights = {str(name): row.tolist() for name, row in zip(names, columns, strict=True)}
    score = scores_of(features, weights, [float(offset) for _, offset in found])
    if len(labels) > 2:
        return Said(graph.node("Softmax", score, axis=1), labels)
    parts = [graph.node("Sigmoid", graph.node("Neg", score)), graph.node("Sigmoid", score)]
    return Said(graph.node("Concat", *parts, axis=1), labels)


def scores_of(features: Features, weights: dict[str, list[float]], offsets: list[float]) -> str:
    """Return linear scores, [rows, scores]."""
    graph = features.graph
    names = [name for name in weights if features.has(name)]
    if not names:
        raise UsageError("--to onnx must come with a model that has learned some rows, got none; learn some first")
    value = graph.known(features.values(names), 0.0)
    total = graph.node("MatMul", value, graph.constant([weights[name] for name in names]))
    return graph.node("Add", total, graph.constant(offsets))


def mixed(model: Any, features: Features) -> Said:
    """Return what a mixture of experts says: the mean of their probabilities, by their weights."""
    graph, labels = features.graph, list(model.classes)
    require_classes(labels)
    parts = []
    for expert, weight in zip(model._experts, model._prior.tolist(), strict=True):
        said = opinion(expert, features)
        if set(said.labels or []) != set(labels):
            raise UsageError(f"--to onnx must come with experts that know all of {labels}, got {said.labels}")
        order = [list(said.labels or []).index(label) for label in labels]
        share = graph.node("Mul", graph.pick(said.tensor, order), graph.constant((1.0 - FLOOR) * weight))
        parts.append(graph.node("Add", share, graph.constant(FLOOR / len(labels) * weight)))
    return Said(graph.node("Sum", *parts) if len(parts) > 1 else parts[0], labels)
