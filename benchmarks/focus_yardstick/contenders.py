"""The learners, and the ways to run each: bare, replaying at random, and with the policies of the game."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.focus_yardstick.mixture import AUTO_WAYS, make_auto
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
    ways
        The ways that it is run, of those in `WAYS`; None for all that are parameters of FocusedClassifier.

    """

    words: str
    make: Callable[[Stream, Callable[[Any], Any]], Any]
    rows: int = 200_000
    leaves: bool = False
    foreign: bool = False
    ways: tuple[str, ...] | None = None


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


# Learners from elsewhere are slow.
FOREIGN_WAYS = (BARE, EVEN, "exponential", "capped")
LEARNERS = {
    "auto": Learner("`AutoClassifier()`", lambda stream, wrap: wrap(None), ways=AUTO_WAYS),
    "HingeOGD": Learner("`Scaler() | HingeOGD()`", ours("HingeOGD")),
    "LLD": Learner("`Scaler() | LLD()`", ours("LLD")),
    "leaves": Learner("`LLD(mu=20)` over the leaves of 100 random ferns of depth 6", ours("LLD", mu=20.0), leaves=True),
    "Logistic": Learner("`Logistic()` over the same leaves", ours("Logistic"), 5_000, leaves=True),
    "River logistic": Learner(
        "`StandardScaler() | LogisticRegression()`", river_logistic, 4_000, foreign=True, ways=FOREIGN_WAYS
    ),
    "Hoeffding tree": Learner("`HoeffdingTreeClassifier()`", river_tree, 2_000, foreign=True, ways=FOREIGN_WAYS),
}
# Parameters of FocusedClassifier; None for the learner alone, and for the ways of `auto`, which focuses by itself.
WAYS: dict[str, dict[str, Any] | None] = {
    BARE: None,
    **dict.fromkeys(AUTO_WAYS[1:], None),
    EVEN: {"policy": "uniform"},
    "exponential": {"policy": "exponential"},
    "capped": {"policy": "capped"},
    "capped at .2": {"policy": Capped(0.2)},
    "capped at .1": {"policy": Capped(0.1)},
    "corrected": {"policy": "corrected"},
    "credible": {"policy": "credible", "loss": "probability"},
    "forgetting": {"policy": "exponential", "share": 1e-4},
    "slices": {"policy": "slices"},
}


def ways_of_learner(name: str) -> list[str]:
    """Return the ways that a learner is run."""
    of_auto = [way for way in AUTO_WAYS if way not in (BARE, EVEN)]
    return list(LEARNERS[name].ways or [way for way in WAYS if way not in of_auto])


def model_of(name: str, way: str, stream: Stream) -> Any:
    """Return a new model: a learner, run one way."""
    if name == "auto":
        return make_auto(way)
    options = WAYS[way]

    def wrap(model: Any) -> Any:
        from stream_maxloss import FocusedClassifier

        return model if options is None else FocusedClassifier(model, seed=1, **options)

    return LEARNERS[name].make(stream, wrap)
