"""`auto` with its replays taken out or drawn at random: what its game adds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stream_maxloss.mixture import AutoClassifier
from stream_maxloss.mixture.credence import SURE_ROWS
from stream_maxloss.mixture.experts import LEVELS
from stream_maxloss.mixture.fields import REPLAYS

__all__ = ["AUTO_WAYS", "make_auto"]

AUTO_WAYS = ("bare", "no replays", "uniform replay", "all believed", "focus")

# The place of the share of even draws among the numbers of the game.
GAMMA = 2
# The experts that do not replay, by themselves, with the same ferns and lessons.
ALONE = "bare experts alone"


def make_auto(way: str, seed: int = 1) -> Any:
    """Return the classifier without knobs: `focus` is the default, and the others are what no user can set.

    `bare` has the bare experts alone, `no replays` has all sixteen and none replays, `all believed` plays the game as
    if every label were right, and `uniform replay` does so, too, and draws evenly.
    """
    if way == "bare":
        LEVELS[ALONE] = replace(LEVELS["normal"], planes=1, replays=0)
        try:
            return AutoClassifier(seed=seed, compute=ALONE)
        finally:
            del LEVELS[ALONE]
    model = AutoClassifier(seed=seed)
    memory = model._model.memory
    if way == "no replays":
        memory["header"][REPLAYS] = 0
    elif way == "uniform replay":
        memory["game"][GAMMA] = 1.0
    if way in ("uniform replay", "all believed"):
        memory["scale"][SURE_ROWS] = 0.0
    return model
