"""The learners, and the ways to run each: bare, replaying at random, and with the policies of the game."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.peers.river_models import linear as river_linear
from benchmarks.streams.stream import Stream
from stream_maxloss.focus import Capped

__all__ = ["LEARNERS", "WAYS", "Learner"]

BARE, EVEN = "bare", "uniform replay"


@dataclass(frozen=True)
class Learner:
    """A learner to be focused.

    Parameters
    ----------
    words
        How it is set up, for the page.
    make
        Returns a pipeline for a stream, given what to wrap the last step in.
    rows
        At most so many rows of a stream.
    leaves
        Whether it sees the leaves of ferns instead of the columns.
    foreign
        Whether it is none of ours: it then runs row by row and has no surrogate loss.

    """

    words: str
    make: Callable[[Stream, Callable[[Any], Any]], Any]
    rows: int = 20_000
    leaves: bool = False
    foreign: bool = False


def ours(name: str, **parameters: Any) -> Callable[[Stream, Callable[[Any], Any]], Any]:
    """Return what makes one of our learners, behind a scaler unless rows are sparse."""

    def make(stream: Stream, wrap: Callable[[Any], Any]) -> Any:
        from stream_maxloss import linear

        learner = wrap(getattr(linear, name)(**parameters))
        return learner if stream.is_sparse else linear.Scaler() | learner

    return make


def river_logistic(stream: Stream, wrap: Callable[[Any], Any]) -> Any:
    """Return River's logistic regression behind its scaler and encoder."""
    from river import linear_model

    whole = river_linear(stream)
    if stream.is_sparse:
        return wrap(linear_model.LogisticRegression())
    steps = list(whole.steps.values())[:-1]
    before = steps[0]
    for step in steps[1:]:
        before = before | step
    return before | wrap(linear_model.LogisticRegression())


def river_tree(stream: Stream, wrap: Callable[[Any], Any]) -> Any:
    """Return River's Hoeffding tree."""
    from river import tree

    return wrap(tree.HoeffdingTreeClassifier())


LEARNERS = {
    "HingeOGD": Learner("`Scaler() | HingeOGD()`", ours("HingeOGD")),
    "LLD": Learner("`Scaler() | LLD()`", ours("LLD")),
    "leaves": Learner("`LLD(mu=20)` over the leaves of 100 random ferns of depth 6", ours("LLD", mu=20.0), leaves=True),
    "Logistic": Learner("`Logistic()` over the same leaves", ours("Logistic"), 5_000, leaves=True),
    "River logistic": Learner("`StandardScaler() | LogisticRegression()`", river_logistic, 4_000, foreign=True),
    "Hoeffding tree": Learner("`HoeffdingTreeClassifier()`", river_tree, 2_000, foreign=True),
}
# Parameters of FocusedClassifier; None for the learner alone.
# Learners from elsewhere are slow, and run the first of these.
FOREIGN_WAYS = 4
WAYS: dict[str, dict[str, Any] | None] = {
    BARE: None,
    EVEN: {"policy": "uniform"},
    "exponential": {"policy": "exponential"},
    "capped": {"policy": "capped"},
    "capped at .1": {"policy": Capped(0.1)},
    "corrected": {"policy": "corrected"},
    "credible": {"policy": "credible", "loss": "probability"},
    "forgetting": {"policy": "exponential", "share": 1e-4},
}
