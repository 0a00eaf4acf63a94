"""This library's own estimators, allowed in checkpoints.

Loaded by the first `describe` or `build`, not with the package: it loads everything that compiles.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from stream_maxloss import linear
from stream_maxloss.checkpoint.description import register, register_value
from stream_maxloss.concepts import Elimination, OnlineToPAC
from stream_maxloss.expand import Bins, Ferns, TaughtFerns
from stream_maxloss.experts import Mixture
from stream_maxloss.focus import (
    AdmitAll,
    Capped,
    ClassQuota,
    Corrected,
    Credible,
    Exponential,
    FocusedClassifier,
    FocusedRegressor,
    Reservoir,
    Slack,
    Slices,
    SubSample,
    Uniform,
)
from stream_maxloss.mixing import MixedClassifier, MixedRegressor
from stream_maxloss.mixture import AutoClassifier, AutoRegressor

__all__ = ["register_estimators"]

# The entry points by which other packages add learners.
LEARNERS = "stream_maxloss.learners"


def register_estimators() -> None:
    """Register them all, and the learners of other packages that are installed."""
    for learner in (
        linear.BalancedWinnow,
        linear.HingeOGD,
        linear.LLD,
        linear.LLM,
        linear.Logistic,
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
    plans, before = ["game.schedule.plan"], {"policy": "exponential"}
    register(FocusedClassifier, parts=["classifier"], may_be_infinite=plans, formerly=before)
    register(FocusedRegressor, parts=["regressor"], may_be_infinite=[*plans, "rows.copies"], formerly=before)

    # A number that is absent from a kept row is minus infinity.
    register(AutoClassifier, may_be_infinite=["kept_numbers"])
    register(AutoRegressor, may_be_infinite=["kept_numbers"])

    register(Mixture, parts=["_experts"])

    register(MixedClassifier, parts=["_workers", "_mixed"])
    register(MixedRegressor, parts=["_workers", "_mixed"])

    register(Bins, state_version=2)
    register(Ferns, state_version=2)
    register(TaughtFerns)

    register(Elimination)
    register(OnlineToPAC, parts=["model", "hypothesis"])

    for found in entry_points(group=LEARNERS):
        register(found.load())

    for choice in (AdmitAll, ClassQuota, Reservoir, Slack, SubSample):
        register_value(choice)
    for policy in (Capped, Corrected, Credible, Exponential, Slices, Uniform):
        register_value(policy)
