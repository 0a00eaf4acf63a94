"""Which experts there are: eight that see each row once, and eight that also replay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.machine.lanes import LANES
from stream_maxloss.mixture.reading import BINNED, GROUPS, RAW, TAUGHT, UNTAUGHT

__all__ = [
    "LEVELS",
    "LOSS_SHARE",
    "USUAL_NAMES",
    "Expert",
    "Level",
    "expert_names",
    "experts_of",
    "rates_of",
    "replaying_names",
    "shares_of",
]


@dataclass(frozen=True)
class Expert:
    """One linear model of the mixture.

    Parameters
    ----------
    name
        What it is called in reports.
    groups
        The groups of features that it sees.
    adaptive
        Its step a / sqrt(G), per weight; 0 for none.
    constant
        Its constant step; 0 for none.

    """

    name: str
    groups: tuple[int, ...]
    adaptive: float = 0.0
    constant: float = 0.0


LINEAR = (RAW, BINNED)
ALL = (RAW, BINNED, UNTAUGHT, TAUGHT)

# Steps of a wide range, with and without leaves: the stream decides. Wide sparse rows need experts without leaves,
# drift needs constant steps, rare rows need replays, and quiet streams small adaptive steps.
BARE = (
    Expert("all, adaptive .05", ALL, adaptive=0.05),
    Expert("all, adaptive .2", ALL, adaptive=0.2),
    Expert("all, adaptive .6", ALL, adaptive=0.6),
    Expert("all, constant 1", ALL, constant=1.0),
    Expert("no leaves, adaptive .05", LINEAR, adaptive=0.05),
    Expert("no leaves, adaptive .3", LINEAR, adaptive=0.3),
    Expert("raw, constant 3", (RAW,), constant=3.0),
    Expert("bins and untaught leaves, constant 4", (BINNED, UNTAUGHT), constant=4.0),
)
REPLAYING = (
    Expert("all, adaptive .02, replayed", ALL, adaptive=0.02),
    Expert("all, adaptive .1, replayed", ALL, adaptive=0.1),
    Expert("all, adaptive .4, replayed", ALL, adaptive=0.4),
    Expert("all, constant .5, replayed", ALL, constant=0.5),
    Expert("no leaves, adaptive .1, replayed", LINEAR, adaptive=0.1),
    Expert("no leaves, adaptive .4, replayed", LINEAR, adaptive=0.4),
    Expert("raw, adaptive .2, replayed", (RAW,), adaptive=0.2),
    Expert("taught leaves, adaptive .1, replayed", (TAUGHT,), adaptive=0.1),
)
PLANES = (BARE, REPLAYING)
# By plane and lane, who takes a place on wide rows, images for one: there no single number says much, and leaves do
# better without the rest beside them.
WIDE = (
    {2: Expert("untaught leaves, adaptive .5", (UNTAUGHT,), adaptive=0.5)},
    {
        2: Expert("untaught leaves, adaptive .5, replayed", (UNTAUGHT,), adaptive=0.5),
        7: Expert("untaught leaves, adaptive .2, replayed", (UNTAUGHT,), adaptive=0.2),
    },
)


# Those that do not look at the row, and what they weigh at first: where there is nothing to learn, or too few rows to
# learn it from, the first of them leads at once. The others that weigh more than an even part are the stacks, which
# lead on most long streams, and two quick experts with replays, which do on short and quiet ones.
USUAL_NAMES = ("constant", "last number", "recent numbers")
USUAL_WEIGHTS = (0.4, 0.02, 0.02)
STACK_WEIGHT = 0.08
QUICK, QUICK_WEIGHTS = LANES, {2: 0.06, 3: 0.08}
# The part of what the mixture gave to other labels than the one that came that is shared among all.
LOSS_SHARE = 0.003


@dataclass(frozen=True)
class Level:
    """How much is computed per row.

    Parameters
    ----------
    planes
        1 for the bare experts, 2 for the replaying ones besides.
    untaught, taught
        Ferns that are drawn at random, and places for ferns that are taught.
    depth
        Tests of a taught fern.
    untaught_depth
        Tests of a fern that is drawn at random: chance needs more rows in a leaf than a lesson does.
    replays
        Rows replayed after each row.
    lesson
        Rows between two lessons; 0 for none.

    """

    planes: int
    untaught: int
    taught: int
    depth: int
    untaught_depth: int
    replays: int
    lesson: int


LEVELS = {
    "least": Level(planes=1, untaught=64, taught=0, depth=8, untaught_depth=8, replays=0, lesson=0),
    "normal": Level(planes=2, untaught=64, taught=64, depth=10, untaught_depth=8, replays=6, lesson=500),
    "most": Level(planes=2, untaught=96, taught=160, depth=10, untaught_depth=10, replays=12, lesson=150),
}


def expert_names(compute: str, is_wide: bool = False) -> list[str]:
    """Return the names of all experts and stacks of a level; of the last three, classes have the first one only."""
    planes = experts_of(LEVELS[compute].planes, is_wide)
    return [expert.name for plane in planes for expert in plane] + ["slow stack", "fast stack", *USUAL_NAMES]


def shares_of(planes: int, usual: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the first weights, those of the mixture against its two tables, and the share.

    Parameters
    ----------
    planes
        Of experts.
    usual
        Experts of what is usual. Models that were saved before there were any have even weights.

    Returns
    -------
    weights
        Of experts, stacks and the experts of what is usual.
    trust
        Of the mixture and its tabled form, and of their outcome and its corrected form.
    rates
        (a, b): the share is a + b (1 - p(y)).

    """
    experts = planes * LANES
    if not usual:
        return np.full(experts + 2, 1.0 / (experts + 2)), np.full(4, 0.5), np.array([1e-3, 0.0])
    special = {QUICK + place: weight for place, weight in QUICK_WEIGHTS.items()} if planes > 1 else {}
    rest = 1.0 - 2.0 * STACK_WEIGHT - sum(USUAL_WEIGHTS[:usual]) - sum(special.values())
    weights = np.full(experts, rest / (experts - len(special)))
    for place, weight in special.items():
        weights[place] = weight
    weights = np.append(weights, [STACK_WEIGHT, STACK_WEIGHT, *USUAL_WEIGHTS[:usual]])
    return weights, np.array([0.8, 0.2, 0.8, 0.2]), np.array([0.0, LOSS_SHARE])


def replaying_names(compute: str, is_wide: bool = False) -> list[str]:
    """Return the names of the experts of a level that replay."""
    return [expert.name for plane in experts_of(LEVELS[compute].planes, is_wide)[1:] for expert in plane]


def experts_of(planes: int, is_wide: bool) -> list[list[Expert]]:
    """Return the experts of each plane; wide rows have some of their own."""
    return [
        [(others if is_wide else {}).get(lane, expert) for lane, expert in enumerate(plane)]
        for plane, others in zip(PLANES[:planes], WIDE[:planes], strict=True)
    ]


def rates_of(planes: int, is_wide: bool) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Return the adaptive steps, the constant steps and the groups in use of each expert, by plane and lane."""
    adaptive = np.zeros((planes, LANES), dtype=np.float32)
    constant = np.zeros((planes, LANES), dtype=np.float32)
    mask = np.zeros((planes, len(GROUPS), LANES), dtype=np.float32)
    for plane, experts in enumerate(experts_of(planes, is_wide)):
        for lane, expert in enumerate(experts):
            adaptive[plane, lane] = expert.adaptive
            constant[plane, lane] = expert.constant
            mask[plane, list(expert.groups), lane] = 1.0
    return adaptive, constant, mask
