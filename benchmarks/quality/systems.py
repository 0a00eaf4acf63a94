"""Every system of the comparison, by name, with the words that say how it is set up."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality import ours, river_peers, scikit, vowpal
from benchmarks.streams import Stream

__all__ = ["CONFIGURED", "QUICK", "family", "prepare", "seeds", "systems_for"]

SPARING = "; as many replays a row as ours, from a buffer of 1,000 rows: with 10,000, as ours has, VW errs more"
VOWPAL = {
    name: f"`{options}`, other options by default, numbers as `name:value` and text as `name=value`"
    + (SPARING if "replay" in name else "")
    for name, options in vowpal.VOWPAL.items()
}
CONFIGURED = {**ours.OURS, **river_peers.RIVER, **VOWPAL, **scikit.SCIKIT}
QUICK = (
    "HingeOGD",
    "HingeOGD focused",
    "River LogisticRegression",
    "VW logistic",
    "scikit-learn SGD hinge",
)


# The trees cost as much as all others together, and cannot take rows of which most features are absent.
TREE_SETS = ("nsl_kdd", "protein_homology", "elec2", "shuttle")


def systems_for(name: str) -> tuple[str, ...]:
    """Return the systems that run over a data set, the longest first: two run at once, and none should run alone."""
    trees = river_peers.TREES[::-1] if name in TREE_SETS else ()
    return trees + tuple(system for system in CONFIGURED if system not in river_peers.TREES)


def seeds(system: str) -> tuple[int, ...]:
    """Return the seeds to try: luck moves the rare slice of a focused learner, and more runs of ours cost little."""
    return (1, 2, 3, 4, 5) if system.endswith(ours.FOCUSED) else (1,)


def prepare(system: str, stream: Stream, seed: int = 1) -> Callable[[], NDArray[np.float64]]:
    """Return a system's run over a stream: the probability of each row's being positive, given before it is learned."""
    if system in ours.OURS:
        return ours.prepare(system, stream, seed)
    for module, systems in (
        (river_peers.prepare, river_peers.RIVER),
        (vowpal.prepare, vowpal.VOWPAL),
        (scikit.prepare, scikit.SCIKIT),
    ):
        if system in systems:
            return module(system, stream)
    raise ValueError(f"a system must be one of {', '.join(CONFIGURED)}, got {system!r}; name one of them")


def family(system: str) -> str:
    """Return the group that a system is drawn with."""
    if system in ours.OURS:
        return "ours, focused" if system.endswith(ours.FOCUSED) else "ours"
    if system in river_peers.TREES:
        return "River's trees"
    return system.split(" ", 1)[0]
