"""One model of every kind that a checkpoint can hold, small, with the target that it learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stream_maxloss.concepts import Elimination, OnlineToPAC
from stream_maxloss.expand import Bins, Ferns
from stream_maxloss.experts import Mixture
from stream_maxloss.focus import FocusedClassifier, FocusedRegressor, Slack, SubSample
from stream_maxloss.linear import (
    LLD,
    LLM,
    AbsoluteOGD,
    BalancedWinnow,
    HingeOGD,
    Logistic,
    MarginPursuit,
    Pegasos,
    Perceptron,
    Scaler,
    Winnow,
)
from stream_maxloss.mixture import AutoClassifier, AutoRegressor

__all__ = ["LATE", "MIXED", "MODELS", "WATCHED"]

SMALL: dict[str, Any] = {"window": 50, "replays": 2, "seed": 1}

# What it is called -> what makes it, the target's column, the task and the delay of labels.
MODELS: dict[str, tuple[Callable[[], Any], str, str | None, int]] = {
    "scaled and focused": (lambda: Scaler() | FocusedClassifier(HingeOGD(), **SMALL), "y", None, 0),
    "auto, binary": (lambda: AutoClassifier(memory=60, compute="least", seed=1), "y", "binary", 0),
    "slack": (lambda: FocusedClassifier(Perceptron(), slack=Slack(3.0), **SMALL), "y", None, 0),
    "auto, classes": (lambda: AutoClassifier(memory=60, compute="least", seed=1), "c", "class", 0),
    "snapshots": (lambda: FocusedClassifier(LLD(), output="majority", snapshots=3, **SMALL), "y", None, 0),
    "auto, numbers": (lambda: AutoRegressor(memory=60, compute="least", seed=1), "z", "number", 0),
    "quota": (lambda: FocusedClassifier(HingeOGD(), admission="quota", share=0.01, **SMALL), "y", None, 0),
    "subsample": (lambda: Scaler() | FocusedClassifier(LLM(), admission=SubSample(0.5), **SMALL), "y", None, 0),
    "reservoir": (lambda: FocusedClassifier(Pegasos(), admission="reservoir", **SMALL), "y", None, 7),
    "regressor": (lambda: Scaler() | FocusedRegressor(AbsoluteOGD(), slack=2.0, **SMALL), "z", None, 0),
    "several copies": (lambda: FocusedRegressor(AbsoluteOGD(), output="average", **SMALL), "z", None, 0),
    "hashed": (lambda: HingeOGD(hash_bits=6), "y", None, 0),
    "averaged": (lambda: Scaler(clip=3.0) | Perceptron(averaged=True), "y", None, 5),
    "multiplicative": (lambda: Bins(bins=4, rows=20) | Winnow(), "y", None, 0),
    "balanced": (lambda: BalancedWinnow(), "y", None, 0),
    "warm-up": (lambda: MarginPursuit(scale="data"), "y", None, 0),
    "ferns": (lambda: Ferns(ferns=4, depth=2, rows=20, seed=1) | HingeOGD(), "y", None, 0),
    "certificate": (lambda: OnlineToPAC(HingeOGD(), 0.2, 0.1), "y", None, 0),
    "elimination": (lambda: Elimination(threshold=0.0, on_contradiction="reset"), "y", None, 0),
    "experts": (lambda: Mixture([Perceptron(), Logistic(), Scaler() | Pegasos()]), "y", None, 0),
    "classes": (lambda: Scaler() | FocusedClassifier(Logistic(), **SMALL), "c", "class", 0),
    "late labels": (lambda: Scaler() | FocusedClassifier(HingeOGD(), **SMALL), "y", None, 0),
    "late labels, auto": (lambda: AutoClassifier(memory=60, compute="least", seed=1), "y", "binary", 0),
    "mixed columns": (lambda: Scaler() | FocusedClassifier(HingeOGD(), **SMALL), "y", None, 0),
    "mixed columns, auto": (lambda: AutoClassifier(memory=60, compute="least", seed=1), "y", "binary", 0),
}

LATE = ("late labels", "late labels, auto")
"""Those whose labels come from a source of their own."""

MIXED = ("mixed columns", "mixed columns, auto")
"""Those that read dates, free text, structs and lists."""

WATCHED = ("quota", "classes", "late labels")
"""Those with alerts and a history."""
