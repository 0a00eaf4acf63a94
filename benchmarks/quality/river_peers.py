"""River's classifiers, as its documentation sets them up."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.streams import Stream

__all__ = ["RIVER", "prepare"]

SCALED = "`StandardScaler`, text columns by `OneHotEncoder`, then "
EVEN = "desired_dist={False: .5, True: .5}"
RIVER = {
    "River Perceptron": SCALED + "`linear_model.Perceptron()`",
    "River PA": SCALED + "`linear_model.PAClassifier()`",
    "River ALMA": SCALED + "`linear_model.ALMAClassifier()`",
    "River LogisticRegression": SCALED + "`linear_model.LogisticRegression()`",
    "River HardSampling": SCALED + "`imblearn.HardSamplingClassifier(LogisticRegression(), size=40, p=0.1, seed=1)`, "
    "as in its documentation",
    "River HardSampling, repaired": "the same with a loss of the probability it is handed (-log p of the label): the "
    "shipped default takes that probability for a score, so that every negative row counts as harder than any positive",
    "River HardSampling, repaired, large": "the repaired one with size=1000, p=0.5",
    "River RandomOverSampler": SCALED + f"`imblearn.RandomOverSampler(LogisticRegression(), {EVEN}, seed=1)`",
    "River RandomUnderSampler": SCALED + f"`imblearn.RandomUnderSampler(LogisticRegression(), {EVEN}, seed=1)`",
    "River RandomSampler": SCALED + f"`imblearn.RandomSampler(LogisticRegression(), {EVEN}, sampling_rate=1, seed=1)`",
    "River HoeffdingTree": "`tree.HoeffdingTreeClassifier()` on the rows as they are",
    "River ARF": "`forest.ARFClassifier(seed=1)` (10 trees) on the rows as they are",
}
TREES = ("River HoeffdingTree", "River ARF")


class ProbabilityLogLoss:
    """The logarithmic loss of a probability, which is what HardSampling hands to its loss."""

    def __call__(self, y_true: bool, y_pred: float) -> float:
        """Return -log of the probability of the label."""
        return -math.log(max(y_pred if y_true else 1.0 - y_pred, 1e-15))


def build(system: str, text: bool, scaled: bool) -> Any:
    """Return a new model; without text columns there is nothing to encode, and counts of words are not scaled."""
    from river import compose, forest, preprocessing, tree

    if system == "River HoeffdingTree":
        return tree.HoeffdingTreeClassifier()
    if system == "River ARF":
        return forest.ARFClassifier(seed=1)
    if not scaled:
        return classifier(system)
    scaler = preprocessing.StandardScaler()
    if text:
        scaler = (compose.SelectType(float) | scaler) + (compose.SelectType(str) | preprocessing.OneHotEncoder())
    return scaler | classifier(system)


def classifier(system: str) -> Any:
    """Return the classifier behind the scaler."""
    from river import imblearn, linear_model

    name = system.removeprefix("River ")
    plain = {"Perceptron": "Perceptron", "PA": "PAClassifier", "ALMA": "ALMAClassifier"}
    if name in plain:
        return getattr(linear_model, plain[name])()
    logistic = linear_model.LogisticRegression()
    if name == "LogisticRegression":
        return logistic
    if name == "HardSampling":
        return imblearn.HardSamplingClassifier(logistic, size=40, p=0.1, seed=1)
    if name.startswith("HardSampling"):
        size, p = (1000, 0.5) if name.endswith("large") else (40, 0.1)
        return imblearn.HardSamplingClassifier(logistic, size=size, p=p, loss=ProbabilityLogLoss(), seed=1)
    rate = {"sampling_rate": 1.0} if name == "RandomSampler" else {}
    return getattr(imblearn, name)(logistic, desired_dist={False: 0.5, True: 0.5}, seed=1, **rate)


def prepare(system: str, stream: Stream) -> Callable[[], NDArray[np.float64]]:
    """Return a run over dicts: predict a row, then learn it."""
    rows, labels = stream.dicts(), stream.labels.tolist()
    text = any(isinstance(value, str) for value in rows[0].values())

    def run(count: int | None = None) -> NDArray[np.float64]:
        model = build(system, text, not stream.is_sparse)
        answers = []
        for x, y in zip(rows[:count], labels[:count], strict=True):
            # A tree knows no label before its first row; a label that it does not name has probability 0.
            answers.append(model.predict_proba_one(x).get(True, 0.0))
            model.learn_one(x, y)
        return np.array(answers)

    run(10)  # imports what it needs
    return run
