"""What River counts as a model's memory: the model, and not the compiler that its kernels came from."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import pytest
from river import datasets

from learners import PUBLIC
from stream_maxloss import AutoClassifier, expand, focus, linear

MODELS = {
    **PUBLIC,
    "Scaler|focused": lambda: linear.Scaler() | focus.FocusedClassifier(linear.HingeOGD()),
    "Ferns|Logistic": lambda: expand.Ferns() | linear.Logistic(),
    "auto": AutoClassifier,
}


def counted(model: Any) -> Iterator[Any]:
    """Yield what River counts: all that can be reached but classes, modules and functions."""
    waiting, seen = [model], set()
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or issubclass(type(thing), type | ModuleType | FunctionType):
            continue
        seen.add(id(thing))
        yield thing
        waiting += gc.get_referents(thing)


@pytest.mark.parametrize("name", MODELS)
def test_nothing_of_the_compiler_is_counted(name: str) -> None:
    model = MODELS[name]()
    for x, y in datasets.Phishing().take(30):
        model.predict_one(x)
        model.learn_one(x, y)
    places = {type(thing).__module__.partition(".")[0] for thing in counted(model)}
    assert places.isdisjoint({"numba", "llvmlite", "_dynfunc"})


@pytest.mark.parametrize("name", PUBLIC)
def test_a_linear_learner_of_nine_features_takes_kilobytes(name: str) -> None:
    model = PUBLIC[name]()
    for x, y in datasets.Phishing().take(30):
        model.predict_one(x)
        model.learn_one(x, y)
    # Vectors, a feature map, a lock and a short cut; with the compiler it would be megabytes.
    assert model._raw_memory_usage < 100_000
