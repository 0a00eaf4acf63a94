"""Which rows enter the window, and which slot each one takes.

A choice (`AdmitAll`, `SubSample`, `Reservoir`, `ClassQuota`) is what a user passes; a `Gate` carries it out. The gate
draws from a generator of its own and looks at labels only, so the slots of a whole batch can be settled before the
first of its rows is learned.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.linear.compiled import compiled
from stream_maxloss.random import make_generator, next_below, next_uniform

__all__ = ["Admission", "AdmitAll", "ClassQuota", "Gate", "Reservoir", "SubSample", "make_admission"]

# Places in the array `counts`.
KIND, CAPACITY, SEEN, ADMITTED, HELD, QUOTA, CLASSES = range(7)
ALL, SUB_SAMPLE, RESERVOIR, CLASS_QUOTA = range(4)
# Rows of the table of classes: the slots of a class form a queue, oldest first.
OLDEST, NEWEST, COUNT = range(3)

Integers = NDArray[np.int64]
NO_LABEL = np.zeros(1, dtype=np.int64)


class Admission:
    """Base of the choices; not to be used itself."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self).__name__, *vars(self).values()))


class AdmitAll(Admission):
    """Every row enters; the oldest leaves when the window is full."""


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

    def failure_bound(self, outliers: float, rare: float) -> float:
        """Bound the probability of a bad sub-sample by theorem 3."""
        rate = self.probability
        return 0.01 + 0.99 * outliers * rate + math.exp(-0.1 * rate * rare)


class Reservoir(Admission):
    """The window is a uniform sample of the whole history: row t enters with probability window/t in a random slot."""


class ClassQuota(Admission):
    """No class fills the window: a row of a class at its quota replaces the oldest row of that class.

    When the window is full, a row of a class below its quota takes the place of the oldest row of the largest class.

    Parameters
    ----------
    quota
        Most rows of one class; `None` shares the window equally among the classes seen so far.

    """

    def __init__(self, quota: int | None = None) -> None:
        if quota is not None and (isinstance(quota, bool) or not isinstance(quota, int) or quota < 1):
            raise ValueError(f"quota must be a positive integer or None, got {quota!r}; None shares the window equally")
        self.quota = quota


def make_admission(admission: str | Admission) -> Admission:
    """Return the choice that a name stands for, or the choice itself."""
    named = {"all": AdmitAll, "reservoir": Reservoir, "quota": ClassQuota}
    if isinstance(admission, Admission):
        return admission
    if isinstance(admission, str) and admission in named:
        return named[admission]()
    raise ValueError(
        f"admission must be 'all', 'reservoir', 'quota', or an Admission object, got {admission!r}; "
        "SubSample(rate=...) and ClassQuota(quota=...) take parameters"
    )


@compiled
def _settle(
    counts: Integers, rate: float, generator: Any, table: Any, following: Integers, codes: Integers, slots: Integers
) -> None:
    for k in range(len(codes)):
        slots[k] = _settle_one(counts, rate, generator, table, following, codes[k])
        counts[SEEN] += 1
        if slots[k] >= 0:
            counts[ADMITTED] += 1
            counts[HELD] = max(counts[HELD], slots[k] + 1)


@compiled
def _settle_one(counts: Integers, rate: float, generator: Any, table: Any, following: Integers, code: int) -> int:
    if counts[KIND] == CLASS_QUOTA:
        return _settle_class(counts, table, following, code)
    if counts[KIND] == RESERVOIR:
        if counts[SEEN] < counts[CAPACITY]:
            return counts[SEEN]
        slot = next_below(generator, counts[SEEN] + 1)
        return slot if slot < counts[CAPACITY] else -1
    if counts[KIND] == SUB_SAMPLE and next_uniform(generator) >= rate:
        return -1
    return counts[ADMITTED] % counts[CAPACITY]


@compiled
def _settle_class(counts: Integers, table: Any, following: Integers, code: int) -> int:
    equal_share = max(1, counts[CAPACITY] // counts[CLASSES])
    quota = counts[QUOTA] if counts[QUOTA] > 0 else equal_share
    room = counts[HELD] < counts[CAPACITY]
    if room and (counts[QUOTA] == 0 or table[COUNT, code] < quota):
        slot = counts[HELD]
    else:
        loser = code if table[COUNT, code] >= quota else np.argmax(table[COUNT, : counts[CLASSES]])
        slot = table[OLDEST, loser]
        table[OLDEST, loser] = following[slot]
        table[COUNT, loser] -= 1
    if table[COUNT, code] == 0:
        table[OLDEST, code] = slot
    else:
        following[table[NEWEST, code]] = slot
    table[NEWEST, code] = slot
    table[COUNT, code] += 1
    return slot


class Gate:
    """Carries out a choice of admission over a window of so many slots.

    Parameters
    ----------
    admission
        The choice.
    capacity
        Number of slots in the window.
    seed
        Seed of the chances that the choice takes.

    Examples
    --------
    >>> from stream_maxloss.focus.admission import ClassQuota, Gate
    >>> gate = Gate(ClassQuota(quota=2), capacity=3)
    >>> [gate.settle(label) for label in ["a", "a", "a", "b", "b"]]
    [0, 1, 0, 2, 1]

    """

    def __init__(self, admission: Admission, capacity: int, seed: int | None = None) -> None:
        kinds = {SubSample: SUB_SAMPLE, Reservoir: RESERVOIR, ClassQuota: CLASS_QUOTA}
        self.counts = np.zeros(7, dtype=np.int64)
        self.counts[KIND] = kinds.get(type(admission), ALL)
        self.counts[CAPACITY] = capacity
        self.counts[QUOTA] = (admission.quota or 0) if isinstance(admission, ClassQuota) else 0
        self.rate = admission.probability if isinstance(admission, SubSample) else 1.0
        self.generator = make_generator(seed)
        self.labels: dict[Hashable, int] = {}
        self.table = np.zeros((3, 2), dtype=np.int64)
        self.following = np.zeros(capacity if self.counts[KIND] == CLASS_QUOTA else 0, dtype=np.int64)

    @property
    def by_label(self) -> bool:
        """Whether labels matter."""
        return bool(self.counts[KIND] == CLASS_QUOTA)

    @property
    def seen(self) -> int:
        """Number of rows that came to the gate."""
        return int(self.counts[SEEN])

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return int(self.following.nbytes + self.table.nbytes + self.counts.nbytes + self.generator.nbytes)

    def settle(self, label: Hashable) -> int:
        """Give the slot that a row takes, or -1 if it does not enter."""
        codes = np.array([self._code(label)], dtype=np.int64) if self.by_label else NO_LABEL
        slot = np.empty(1, dtype=np.int64)
        _settle(self.counts, self.rate, self.generator, self.table, self.following, codes, slot)
        return int(slot[0])

    def settle_many(self, labels: Any) -> Integers:
        """Give the slots of several rows in order, -1 for those that do not enter."""
        slots = np.empty(len(labels), dtype=np.int64)
        if self.counts[KIND] == ALL:
            return self._take_in_turn(len(labels))
        if not self.by_label:
            _settle(self.counts, self.rate, self.generator, self.table, self.following, slots, slots)
            return slots
        # One by one: the equal share depends on the classes seen up to the row.
        for k, label in enumerate(labels):
            code = np.array([self._code(label)], dtype=np.int64)
            _settle(self.counts, self.rate, self.generator, self.table, self.following, code, slots[k : k + 1])
        return slots

    def _take_in_turn(self, rows: int) -> Integers:
        counts = self.counts
        first, capacity = int(counts[ADMITTED]), int(counts[CAPACITY])
        counts[SEEN] += rows
        counts[ADMITTED] += rows
        counts[HELD] = min(max(int(counts[HELD]), first + rows), capacity)
        return np.arange(first, first + rows, dtype=np.int64) % capacity

    def _code(self, label: Hashable) -> int:
        if isinstance(label, np.generic):
            label = label.item()
        code = self.labels.setdefault(label, len(self.labels))
        if code >= self.table.shape[1]:
            self.table = np.concatenate([self.table, np.zeros_like(self.table)], axis=1)
        self.counts[CLASSES] = len(self.labels)
        return code

    def state_dict(self) -> dict[str, Any]:
        """Return the state as a flat dictionary; the labels must be numbers, text or booleans."""
        return {
            "counts": self.counts.copy(),
            "generator": self.generator.copy(),
            "labels": list(self.labels),
            "table": self.table.copy(),
            "following": self.following.copy(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up the state of a gate of the same choice and capacity."""
        self.counts[:] = state["counts"]
        self.generator[:] = state["generator"]
        self.labels = {label: code for code, label in enumerate(state["labels"])}
        self.table = np.array(state["table"], dtype=np.int64)
        self.following[:] = state["following"]
