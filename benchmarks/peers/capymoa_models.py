"""CapyMOA's ensembles of 10 trees and its gradient boosting, which run in a Java machine inside the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.matrix import coded
from benchmarks.streams.stream import BINARY, NUMBER, Stream

__all__ = ["CAPYMOA", "prepare"]

CAPYMOA = {
    "CapyMOA ARF10": "`AdaptiveRandomForestClassifier(ensemble_size=10)` or `...Regressor(ensemble_size=10)`, text as "
    "nominal attributes",
    "CapyMOA SRP10": "`StreamingRandomPatches(ensemble_size=10)`, text as nominal attributes",
    "CapyMOA SGBT": "`StreamingGradientBoostedTrees()` (100 trees) or `StreamingGradientBoostedRegression()`, text as "
    "nominal attributes",
}


def build(system: str, schema: Any, number: bool) -> Any:
    """Return a new learner."""
    from capymoa import classifier, regressor

    if system == "CapyMOA ARF10":
        forest = regressor.AdaptiveRandomForestRegressor if number else classifier.AdaptiveRandomForestClassifier
        return forest(schema=schema, ensemble_size=10)
    if system == "CapyMOA SRP10":
        return classifier.StreamingRandomPatches(schema=schema, ensemble_size=10)
    if number:
        return regressor.StreamingGradientBoostedRegression(schema=schema)
    return classifier.StreamingGradientBoostedTrees(schema=schema)


def schema_of(stream: Stream, words: dict[int, list[str]]) -> Any:
    """Return the columns as CapyMOA declares them: named by number, text and classes with all their values."""
    from capymoa.stream import Schema

    names = [f"column{place}" for place in range(stream.table.num_columns)]
    values = {names[place]: [f"value{code}" for code in range(len(known))] for place, known in words.items()}
    if stream.kind != NUMBER:
        values["label"] = [f"class{code}" for code in range(len(stream.classes))]
    return Schema.from_custom([*names, "label"], target="label", categories=values)


def prepare(system: str, stream: Stream) -> Callable[[], NDArray[np.float64]]:
    """Return a run: predict an instance, then train on it."""
    from capymoa.core import LabeledInstance, RegressionInstance

    X, words = coded(stream)
    number = stream.kind == NUMBER
    schema = schema_of(stream, words)
    kind = RegressionInstance if number else LabeledInstance
    labels = stream.labels.tolist() if number else stream.codes().tolist()
    build(system, schema, number)  # starts the Java machine

    def run() -> NDArray[np.float64]:
        learner = build(system, schema, number)
        answers = np.zeros(len(labels)) if number else np.zeros((len(labels), len(stream.classes)))
        for row, label in enumerate(labels):
            instance = kind.from_array(schema, X[row], label)
            said = learner.predict(instance) if number else learner.predict_proba(instance)
            if said is not None:
                answers[row] = said
            learner.train(instance)
        return answers if stream.kind != BINARY else answers[:, 1] + 0.5 * (answers.sum(axis=1) <= 0.0)

    return run
