"""This library's own estimators, allowed in checkpoints.

Loaded by the first `describe` or `build`, not with the package: it loads everything that compiles.
"""

from __future__ import annotations

from stream_maxloss import linear
from stream_maxloss.checkpoint.description import register, register_value
from stream_maxloss.concepts import Elimination, OnlineToPAC
from stream_maxloss.focus import (
    AdmitAll,
    ClassQuota,
    FocusedClassifier,
    FocusedRegressor,
    Reservoir,
    Slack,
    SubSample,
)

__all__ = ["register_estimators"]


def register_estimators() -> None:
    """Register them all."""
    for learner in (
        linear.BalancedWinnow,
        linear.HingeOGD,
        linear.LLD,
        linear.LLM,
        linear.MarginPursuit,
        linear.Pegasos,
        linear.Perceptron,
        linear.Scaler,
        linear.Winnow,
    ):
        register(learner)

    # Its range is part of its memory, and unbounded by default.
    register(linear.AbsoluteOGD, may_be_infinite=["memory"])

    # A game without snapshots plans the next one for never.
    register(FocusedClassifier, parts=["classifier"], may_be_infinite=["game.schedule.plan"])
    register(FocusedRegressor, parts=["regressor"], may_be_infinite=["game.schedule.plan", "rows.copies"])

    register(Elimination)
    register(OnlineToPAC, parts=["model", "hypothesis"])

    for choice in (AdmitAll, ClassQuota, Reservoir, Slack, SubSample):
        register_value(choice)
