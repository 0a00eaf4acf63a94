"""Which rounds of the game are remembered for the final vote or average."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.described import ArrayOf, check_numbers, check_state
from stream_maxloss.machine.compiled import compiled
from stream_maxloss.random import make_generator, next_below, next_uniform, restore_generator

__all__ = ["SnapshotSchedule", "snapshot_place"]

# Places in the array `plan`.
COUNT, HORIZON, ROUND, NEXT, SKIP, STORED = range(6)


@compiled
def snapshot_place(plan: NDArray[np.float64], generator: NDArray[np.uint64]) -> int:
    """Count one round; give the place at which the learner as it is before the round must be kept, or -1."""
    now = plan[ROUND]
    plan[ROUND] += 1.0
    if now < plan[NEXT]:
        return -1
    place = _stratum(plan, generator) if plan[HORIZON] > 0.0 else _reservoir(plan, generator)
    plan[STORED] = max(plan[STORED], place + 1.0)
    return place


@compiled
def _reservoir(plan: Any, generator: Any) -> int:
    count = int(plan[COUNT])
    if plan[NEXT] < count:
        place = int(plan[NEXT])
        plan[NEXT] += 1.0
        if plan[NEXT] < count:
            return place
    else:
        place = next_below(generator, count)
    # Li's algorithm L: the number of rounds to let pass until the next one kept, drawn at once.
    plan[SKIP] *= math.exp(math.log(1.0 - next_uniform(generator)) / count)
    plan[NEXT] = max(plan[NEXT], plan[ROUND])
    plan[NEXT] += math.floor(math.log(1.0 - next_uniform(generator)) / math.log1p(-plan[SKIP]))
    return place


@compiled
def _stratum(plan: Any, generator: Any) -> int:
    count = int(plan[COUNT])
    length = math.ceil(plan[HORIZON] / count)
    stratum = int(plan[NEXT] // length)
    plan[NEXT] = (stratum + 1) * length + next_below(generator, length)
    return stratum % count


class SnapshotSchedule:
    """Chooses k rounds uniformly as the game goes on, and says when and where to keep a copy of the learner.

    Theorem 1 of Shalev-Shwartz and Wexler (2016) votes or averages over k rounds drawn uniformly from all T. Over the
    whole history this is a reservoir with skips: about k ln(T/k) copies are made, and no random number is drawn
    on the rounds in between. Over a horizon the rounds are cut into stretches of horizon/k, of which each gives
    one round drawn uniformly; the last k are kept, so a stream that changes is voted on by recent learners.

    Parameters
    ----------
    count
        k, the number of copies to keep; 0 keeps none.
    horizon
        Number of last rounds that the copies stand for; `None` for the whole history.
    seed
        Seed of the choice.

    References
    ----------
    Kim-Hung Li. Reservoir-sampling algorithms of time complexity O(n(1 + log(N/n))). ACM Transactions on
    Mathematical Software 20(4), 1994.

    Examples
    --------
    >>> from stream_maxloss.focus.snapshots import SnapshotSchedule
    >>> schedule = SnapshotSchedule(count=3, seed=1)
    >>> places = [schedule.place() for _ in range(1000)]
    >>> places[:4], sum(place >= 0 for place in places)
    ([0, 1, 2, -1], 14)

    """

    def __init__(self, count: int, horizon: int | None = None, seed: int | None = None) -> None:
        self.plan = np.zeros(6, dtype=np.float64)
        self.generator = make_generator(seed)
        self.plan[COUNT] = count
        self.plan[HORIZON] = horizon or 0
        self.plan[SKIP] = 1.0
        if count == 0:
            self.plan[NEXT] = math.inf
        elif horizon:
            self.plan[NEXT] = next_below(self.generator, math.ceil(horizon / count))

    @property
    def stored(self) -> int:
        """Number of places filled so far."""
        return int(self.plan[STORED])

    @property
    def due(self) -> bool:
        """Whether the coming round is to be kept."""
        return bool(self.plan[ROUND] >= self.plan[NEXT])

    def place(self) -> int:
        """Count one round; give the place for a copy of the learner as it is before it, or -1."""
        return int(snapshot_place(self.plan, self.generator))

    def state_dict(self) -> dict[str, Any]:
        """Return the state as a flat dictionary of arrays."""
        return {"plan": self.plan.copy(), "generator": self.generator.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up the state of a schedule of the same count and horizon."""
        expected = {
            "plan": ArrayOf("float64", (len(self.plan),), low=0.0, finite=False),
            "generator": ArrayOf("uint64", (len(self.generator),)),
        }
        check_state(state, expected)
        # What is stored can only be copied over in place.
        check_numbers("plan", state["plan"], self.plan, settled=(COUNT, HORIZON), counts={STORED: self.plan[COUNT]})
        self.plan[:] = state["plan"]
        restore_generator(self.generator, state["generator"])
