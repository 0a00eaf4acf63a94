"""Which rows enter the window, and which slot each one takes: the policies.

A policy says so itself, in one function that the gate compiles into its loop. Nothing else knows the kinds of policies
that there are, so one from another package works like those below::

    class EveryOther(Admission):
        @staticmethod
        def place(counts, settings, generator, queues, following, code):
            return counts[ADMITTED] % counts[CAPACITY] if counts[SEEN] % 2 == 0 else -1

"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.random import next_below, next_uniform

__all__ = ["Admission", "AdmitAll", "ClassQuota", "Reservoir", "SubSample", "make_admission"]

# Places in the array `counts`; KIND and QUOTA are of states that were written when kinds had codes.
KIND, CAPACITY, SEEN, ADMITTED, HELD, QUOTA, CLASSES = range(7)
# Rows of the table `queues`: the slots of a class form a queue, oldest first.
OLDEST, NEWEST, COUNT = range(3)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Admission:
    """Base of the policies.

    A subclass defines `place`, and `settings` if that takes numbers. Its attributes are the arguments that made it, so
    that `stream_maxloss.checkpoint.register_value` can allow it in checkpoints.
    """

    by_label: bool = False
    """Whether `place` looks at the label; rows of a batch are then settled one by one."""

    @property
    def settings(self) -> tuple[float, ...]:
        """The numbers that `place` is given."""
        return ()

    @staticmethod
    def place(
        counts: Integers, settings: Floats, generator: Any, queues: Integers, following: Integers, code: int
    ) -> int:
        """Return the slot that the next row takes, or -1 if it does not enter. Compiled, as a function of its own.

        Parameters
        ----------
        counts
            `counts[CAPACITY]` slots, `counts[SEEN]` rows that came and `counts[ADMITTED]` that entered before this one,
            `counts[HELD]` slots in use, `counts[CLASSES]` classes so far. The gate keeps them.
        settings
            What `settings` returned.
        generator
            For `stream_maxloss.random.next_uniform` and `next_below`.
        queues, following
            For policies by label: OLDEST and NEWEST slot and COUNT of each class, and the slot that follows each.
        code
            Number of the row's label, in order of first sight; 0 unless `by_label`.

        """
        raise NotImplementedError

    def held(self, counts: Integers) -> int | None:
        """Return how many slots must be in use where the counts tell it; None where they do not."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self).__name__, *vars(self).values()))


class AdmitAll(Admission):
    """Every row enters; the oldest leaves when the window is full."""

    @staticmethod
    def place(
        counts: Integers, settings: Floats, generator: Any, queues: Integers, following: Integers, code: int
    ) -> int:
        """Return the slots in turn."""
        return counts[ADMITTED] % counts[CAPACITY]

    def held(self, counts: Integers) -> int:
        """Return the rows that entered, or all slots."""
        return int(min(counts[ADMITTED], counts[CAPACITY]))


class SubSample(Admission):
    """A row enters by chance, so that outliers mostly stay out; the oldest leaves when the window is full.

    Shalev-Shwartz and Wexler (2016, section 4.1) play the game on n rows drawn from m, of which k are outliers and
    m_2 rare: by their theorem 3 the sample has an outlier, or fewer than half of the rare rows expected in it,
    with probability at most 0.01 + 0.99 k n/m + exp(-0.1 n m_2/m). Their example takes n/m = 1/(100 k). They draw
    with repetition from a fixed sample; on a stream every row is drawn once, with that probability.

    Parameters
    ----------
    rate
        Probability n/m of entering, in (0, 1].
    outliers
        Instead of the rate: k, the outliers expected among the rows that the window is to stand for; sets 1/(100 k).

    Examples
    --------
    >>> from stream_maxloss.focus.admission import SubSample
    >>> SubSample(outliers=2).probability
    0.005
    >>> round(SubSample(outliers=2).failure_bound(outliers=2, rare=10_000), 3)
    0.027

    """

    def __init__(self, rate: float | None = None, outliers: float | None = None) -> None:
        if (rate is None) == (outliers is None):
            raise ValueError(f"one of rate and outliers must be given, got {rate!r} and {outliers!r}; pass just one")
        if rate is not None and not 0.0 < rate <= 1.0:
            raise ValueError(f"rate must lie in (0, 1], got {rate!r}; it is the share of rows that enter")
        if outliers is not None and not 0.01 <= outliers < math.inf:
            raise ValueError(f"outliers must be at least 0.01, got {outliers!r}; pass admission='all' for none")
        self.rate = rate
        self.outliers = outliers

    @property
    def probability(self) -> float:
        """The probability with which a row enters."""
        return self.rate if self.rate is not None else 1.0 / (100.0 * self.outliers)  # type: ignore[operator]

    @property
    def settings(self) -> tuple[float, ...]:
        """The probability."""
        return (self.probability,)

    @staticmethod
    def place(
        counts: Integers, settings: Floats, generator: Any, queues: Integers, following: Integers, code: int
    ) -> int:
        """Return the slots in turn, to the rows that chance lets in."""
        if next_uniform(generator) >= settings[0]:
            return -1
        return counts[ADMITTED] % counts[CAPACITY]

    def held(self, counts: Integers) -> int:
        """Return the rows that entered, or all slots."""
        return int(min(counts[ADMITTED], counts[CAPACITY]))

    def failure_bound(self, outliers: float, rare: float) -> float:
        """Bound the probability of a bad sub-sample by theorem 3."""
        rate = self.probability
        return 0.01 + 0.99 * outliers * rate + math.exp(-0.1 * rate * rare)


class Reservoir(Admission):
    """The window is a uniform sample of the whole history: row t enters with probability window/t in a random slot."""

    @staticmethod
    def place(
        counts: Integers, settings: Floats, generator: Any, queues: Integers, following: Integers, code: int
    ) -> int:
        """Return a slot drawn from all rows so far, if it is one of the window's."""
        if counts[SEEN] < counts[CAPACITY]:
            return counts[SEEN]
        slot = next_below(generator, counts[SEEN] + 1)
        return slot if slot < counts[CAPACITY] else -1

    def held(self, counts: Integers) -> int:
        """Return the rows that came, or all slots."""
        return int(min(counts[SEEN], counts[CAPACITY]))


class ClassQuota(Admission):
    """No class fills the window: a row of a class at its quota replaces the oldest row of that class.

    When the window is full, a row of a class below its quota takes the place of the oldest row of the largest class.

    Parameters
    ----------
    quota
        Most rows of one class; `None` shares the window equally among the classes seen so far.

    """

    by_label = True

    def __init__(self, quota: int | None = None) -> None:
        if quota is not None and (isinstance(quota, bool) or not isinstance(quota, int) or quota < 1):
            raise ValueError(f"quota must be a positive integer or None, got {quota!r}; None shares the window equally")
        self.quota = quota

    @property
    def settings(self) -> tuple[float, ...]:
        """The quota, 0 for an equal share."""
        return (float(self.quota or 0),)

    @staticmethod
    def place(
        counts: Integers, settings: Floats, generator: Any, queues: Integers, following: Integers, code: int
    ) -> int:
        """Return the next free slot, or the oldest of the class that has to give one up."""
        fixed = np.int64(settings[0])
        quota = fixed if fixed > 0 else max(1, counts[CAPACITY] // counts[CLASSES])
        room = counts[HELD] < counts[CAPACITY]
        if room and (fixed == 0 or queues[COUNT, code] < quota):
            slot = counts[HELD]
        else:
            loser = code if queues[COUNT, code] >= quota else np.argmax(queues[COUNT, : counts[CLASSES]])
            slot = queues[OLDEST, loser]
            queues[OLDEST, loser] = following[slot]
            queues[COUNT, loser] -= 1
        if queues[COUNT, code] == 0:
            queues[OLDEST, code] = slot
        else:
            following[queues[NEWEST, code]] = slot
        queues[NEWEST, code] = slot
        queues[COUNT, code] += 1
        return slot


def make_admission(admission: str | Admission) -> Admission:
    """Return the policy that a name stands for, or the policy itself.

    Raises
    ------
    ValueError
        If it is neither.
    TypeError
        If the policy does not say where rows go.

    """
    named = {"all": AdmitAll, "reservoir": Reservoir, "quota": ClassQuota}
    if isinstance(admission, Admission):
        if type(admission).place is Admission.place:
            raise TypeError(f"an admission policy must define place(), got {admission!r}; see Admission.place")
        return admission
    if isinstance(admission, str) and admission in named:
        return named[admission]()
    raise ValueError(
        f"admission must be 'all', 'reservoir', 'quota', or an Admission object, got {admission!r}; "
        "SubSample(rate=...) and ClassQuota(quota=...) take parameters"
    )
