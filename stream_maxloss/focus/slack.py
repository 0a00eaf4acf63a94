"""Slack variables: a budget of loss that outliers may be forgiven.

The kernels take plain arrays, so that the native replay loop can call them; `SlackBook` holds those arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.described import ArrayOf, check_numbers, check_state
from stream_maxloss.machine.compiled import compiled

__all__ = ["Slack", "SlackBook", "loss_left", "slack_of", "slack_release", "slack_step"]

# Places in the array `book`. The slack of slot i is max(0, z_i - OFFSET) under L1, OFFSET z_i under L2, and 1 if it is
# one of the heap's, else 0, where it is hard; z_i is then the loss that the row has had in all.
KIND, BUDGET, STEP, OFFSET, SPENT, ACTIVE = range(6)
NONE, L1, L2, HARD = 0, 1, 2, 3
# Beyond these the stored numbers would lose digits to the common offset or factor.
LARGEST_OFFSET = 1024.0
SMALLEST_FACTOR = 2.0**-256

Floats = NDArray[np.float64]
Places = NDArray[np.int32]


@compiled
def slack_of(book: Floats, values: Floats, where: Places, slot: int) -> float:
    """Give the slack of a slot, in [0, 1]."""
    if book[KIND] == L1:
        return max(0.0, values[slot] - book[OFFSET])
    if book[KIND] == L2:
        return book[OFFSET] * values[slot]
    return 1.0 if book[KIND] == HARD and where[slot] >= 0 else 0.0


@compiled
def loss_left(book: Floats, values: Floats, where: Places, slot: int, loss: float) -> float:
    """Give what the game sees of a loss: l - xi, or (1 - xi) l where slack is hard."""
    slack = slack_of(book, values, where, slot)
    return (1.0 - slack) * loss if book[KIND] == HARD else loss - slack


@compiled
def slack_step(book: Floats, values: Floats, heap: Places, where: Places, slot: int, loss: float) -> None:
    """Move the slack of a replayed row, given its loss.

    It takes one gradient step, xi_i += step, and projects onto the budget; hard slack follows the leader: it forgives
    the K rows whose losses so far add up to most.
    """
    if book[KIND] == L1:
        _step_l1(book, values, heap, where, slot)
    elif book[KIND] == L2:
        _step_l2(book, values, where, slot)
    elif book[KIND] == HARD:
        _follow(book, values, heap, where, slot, loss)


@compiled
def _follow(book: Floats, values: Floats, heap: Places, where: Places, slot: int, loss: float) -> None:
    values[slot] += loss
    if where[slot] >= 0:
        _sink(values, heap, where, where[slot], int(book[ACTIVE]))
    elif book[ACTIVE] < book[BUDGET] and loss > 0.0:
        _insert(book, values, heap, where, slot)
    elif book[ACTIVE] > 0.0 and values[slot] > values[heap[0]]:
        _remove(book, values, heap, where, heap[0])
        _insert(book, values, heap, where, slot)
    book[SPENT] = book[ACTIVE]


@compiled
def slack_release(book: Floats, values: Floats, heap: Places, where: Places, slot: int) -> None:
    """Give the slack of a row that leaves back to the budget."""
    if book[KIND] == L1:
        if where[slot] >= 0:
            book[SPENT] = max(0.0, book[SPENT] - slack_of(book, values, where, slot))
            _remove(book, values, heap, where, slot)
        values[slot] = 0.0
    elif book[KIND] == L2:
        book[SPENT] = max(0.0, book[SPENT] - slack_of(book, values, where, slot) ** 2)
        values[slot] = 0.0
    elif book[KIND] == HARD:
        if where[slot] >= 0:
            _remove(book, values, heap, where, slot)
        values[slot] = 0.0
        book[SPENT] = book[ACTIVE]


@compiled
def _step_l1(book: Floats, values: Floats, heap: Places, where: Places, slot: int) -> None:
    before = slack_of(book, values, where, slot) if where[slot] >= 0 else 0.0
    if where[slot] >= 0:
        _remove(book, values, heap, where, slot)
    wanted = before + book[STEP]
    others = book[SPENT] - before
    # Find theta >= 0 with sum_j max(0, xi_j - theta) + clip(wanted - theta, 0, 1) = K (Duchi et al. 2008). Rows whose
    # slack falls to zero leave the heap for good: each was put there by one step, so the cost is O(log n) a step.
    theta = 0.0
    own = min(1.0, wanted)
    while others + own > book[BUDGET]:
        active = int(book[ACTIVE])
        smallest = values[heap[0]] - book[OFFSET] if active > 0 else math.inf
        theta = _threshold(book[BUDGET], others, active, wanted)
        if theta <= smallest:
            break
        others -= smallest
        _remove(book, values, heap, where, heap[0])
        own = min(1.0, wanted)
    active = int(book[ACTIVE])
    own = min(1.0, max(0.0, wanted - theta))
    book[SPENT] = others - active * theta + own
    book[OFFSET] += theta
    if own > 0.0:
        values[slot] = book[OFFSET] + own
        _insert(book, values, heap, where, slot)
    if book[OFFSET] > LARGEST_OFFSET:
        _rebase_l1(book, values, where)


@compiled
def _threshold(budget: float, others: float, active: int, wanted: float) -> float:
    """Solve others - active theta + clip(wanted - theta, 0, 1) = budget for theta, all active staying positive."""
    if wanted > 1.0:
        # While wanted - theta is still above one only the others move.
        if active > 0:
            theta = (others + 1.0 - budget) / active
            if theta <= wanted - 1.0:
                return theta
        elif others + 1.0 <= budget:
            return 0.0
    theta = (others + wanted - budget) / (active + 1)
    if theta > wanted and active > 0:
        theta = (others - budget) / active
    return max(theta, 0.0)


@compiled
def _rebase_l1(book: Floats, values: Floats, where: Places) -> None:
    total = 0.0
    for slot in range(len(values)):
        if where[slot] >= 0:
            values[slot] -= book[OFFSET]
            total += values[slot]
    book[OFFSET] = 0.0
    book[SPENT] = total


@compiled
def _step_l2(book: Floats, values: Floats, where: Places, slot: int) -> None:
    before = slack_of(book, values, where, slot)
    raised = before + book[STEP]
    others = max(0.0, book[SPENT] - before * before)
    # The nearest point of box and ball is min(1, s z) with one factor s for all (Karush-Kuhn-Tucker). Only the row
    # that was raised can lie above one, so s solves s^2 others + min(1, s raised)^2 = K.
    own, shrink = min(1.0, raised), 1.0
    if others + own * own > book[BUDGET]:
        shrink = math.sqrt(book[BUDGET] / (others + raised * raised))
        own = raised * shrink
        if own > 1.0:
            own, shrink = 1.0, math.sqrt((book[BUDGET] - 1.0) / others)
    book[SPENT] = others * shrink * shrink + own * own
    book[OFFSET] *= shrink
    values[slot] = own / book[OFFSET]
    if book[OFFSET] < SMALLEST_FACTOR:
        total = 0.0
        for k in range(len(values)):
            values[k] *= book[OFFSET]
            total += values[k] * values[k]
        book[OFFSET] = 1.0
        book[SPENT] = total


@compiled
def _insert(book: Floats, values: Floats, heap: Places, where: Places, slot: int) -> None:
    end = int(book[ACTIVE])
    heap[end] = slot
    where[slot] = end
    book[ACTIVE] += 1.0
    _rise(values, heap, where, end)


@compiled
def _remove(book: Floats, values: Floats, heap: Places, where: Places, slot: int) -> None:
    book[ACTIVE] -= 1.0
    end = int(book[ACTIVE])
    place = where[slot]
    moved = heap[end]
    where[slot] = -1
    if place != end:
        heap[place] = moved
        where[moved] = place
        _rise(values, heap, where, place)
        _sink(values, heap, where, where[moved], end)


@compiled
def _rise(values: Floats, heap: Places, where: Places, place: int) -> None:
    slot = heap[place]
    while place > 0:
        parent = (place - 1) // 2
        if values[heap[parent]] <= values[slot]:
            break
        heap[place] = heap[parent]
        where[heap[place]] = place
        place = parent
    heap[place] = slot
    where[slot] = place


@compiled
def _sink(values: Floats, heap: Places, where: Places, place: int, count: int) -> None:
    slot = heap[place]
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and values[heap[child + 1]] < values[heap[child]]:
            child += 1
        if values[slot] <= values[heap[child]]:
            break
        heap[place] = heap[child]
        where[heap[place]] = place
        place = child
    heap[place] = slot
    where[slot] = place


class Slack:
    """A choice of slack: how much loss may be forgiven in all, and under which norm.

    Shalev-Shwartz and Wexler (2016, section 4.2) give each row a slack xi_i in [0, 1] and let the game see
    loss_i - xi_i. The learner's side moves xi by a gradient step, which is xi_i += step for the row drawn, and
    projects onto sum(xi) <= K (L1, after Duchi et al. 2008) or sum(xi^2) <= K (L2, a scaling), both exactly and within
    [0, 1]. A row that is drawn again and again and stays wrong thus spends slack until it no longer rules the game.

    `norm="hard"` is what these relax: xi in {0, 1}, at most K of them 1, and the game sees (1 - xi_i) loss_i. The K
    rows whose losses over their replays add up to most are forgiven, the best choice in hindsight at every round; a
    forgiven row that is drawn is looked at and not learned.

    Parameters
    ----------
    budget
        K: under L1 the number of rows that may be forgiven altogether; under L2 the bound on the sum of squares; a
        whole number of rows where slack is hard.
    norm
        `"l1"` concentrates the budget on few rows; `"l2"` spreads it; `"hard"` forgives K rows and no other.
    step
        How fast slack grows with each replay of a row. `None` takes sqrt(2K/T), the step of online gradient descent
        over a set of that diameter for T rounds, with T the replays that fall within one turn of the window.

    Notes
    -----
    L1 costs O(log n) a replay, amortised, and 16 bytes a slot, hard slack O(log K); L2 costs O(1) and 8 bytes.

    References
    ----------
    Shai Shalev-Shwartz and Yonatan Wexler. Minimizing the maximal loss: how and why? ICML 2016.

    John Duchi, Shai Shalev-Shwartz, Yoram Singer and Tushar Chandra. Efficient projections onto the l1-ball for
    learning in high dimensions. ICML 2008.

    Examples
    --------
    >>> from stream_maxloss.focus.slack import Slack, SlackBook
    >>> book = SlackBook(Slack(budget=1.0, step=0.4), capacity=3, rounds=100)
    >>> for slot in [0, 0, 1, 0]:
    ...     book.step(slot)
    >>> [round(book.get(slot), 3) for slot in range(3)]
    [0.8, 0.2, 0.0]

    """

    def __init__(self, budget: float, norm: str = "l1", step: float | None = None) -> None:
        if not 0.0 < budget < math.inf:
            raise ValueError(f"budget must be positive and finite, got {budget!r}; pass slack=None for no slack")
        if norm not in ("l1", "l2", "hard"):
            raise ValueError(f"norm must be 'l1', 'l2' or 'hard', got {norm!r}; 'l1' counts rows, 'l2' spreads")
        if norm == "hard" and (budget != int(budget) or step is not None):
            raise ValueError(f"hard slack must have a whole budget and no step, got {budget!r} and {step!r}")
        if step is not None and not 0.0 < step <= 1.0:
            raise ValueError(f"step must lie in (0, 1], got {step!r}; leave it None for sqrt(2 budget / rounds)")
        self.budget = budget
        self.norm = norm
        self.step = step

    def __repr__(self) -> str:
        return f"Slack(budget={self.budget!r}, norm={self.norm!r}, step={self.step!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((self.budget, self.norm, self.step))


class SlackBook:
    """The slack spent on each slot of a window.

    Parameters
    ----------
    slack
        The choice, or `None` for a book in which nothing can be spent.
    capacity
        Number of slots.
    rounds
        Replays within one turn of the window, for the default step.

    """

    def __init__(self, slack: Slack | None, capacity: int, rounds: int) -> None:
        kind = NONE if slack is None else {"l1": L1, "l2": L2, "hard": HARD}[slack.norm]
        self.book = np.zeros(6, dtype=np.float64)
        self.book[KIND] = kind
        if slack is not None:
            self.book[BUDGET] = slack.budget
            self.book[STEP] = slack.step or min(1.0, math.sqrt(2.0 * slack.budget / max(rounds, 1)))
        self.book[OFFSET] = 1.0 if kind == L2 else 0.0
        self.values = np.zeros(0 if kind == NONE else capacity, dtype=np.float64)
        has_heap = kind in (L1, HARD)
        self.heap = np.zeros(capacity if has_heap else 0, dtype=np.int32)
        self.where = np.full(capacity if has_heap else 0, -1, dtype=np.int32)

    @property
    def spent(self) -> float:
        """The part of the budget in use."""
        return float(self.book[SPENT])

    @property
    def active(self) -> bool:
        """Whether there is a budget at all."""
        return bool(self.book[KIND] != NONE)

    @property
    def is_hard(self) -> bool:
        """Whether a forgiven row is not learned."""
        return bool(self.book[KIND] == HARD)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return int(self.book.nbytes + self.values.nbytes + self.heap.nbytes + self.where.nbytes)

    def get(self, slot: int) -> float:
        """Return the slack of a slot."""
        return float(slack_of(self.book, self.values, self.where, slot))

    def left_of(self, slot: int, loss: float) -> float:
        """Return what the game sees of the loss of a slot."""
        return float(loss_left(self.book, self.values, self.where, slot, loss))

    def step(self, slot: int, loss: float = 1.0) -> None:
        """Move the slack of a replayed slot that had this loss."""
        slack_step(self.book, self.values, self.heap, self.where, slot, loss)

    def release(self, slot: int) -> None:
        """Return the slack of a leaving row to the budget."""
        slack_release(self.book, self.values, self.heap, self.where, slot)

    def state_dict(self) -> dict[str, Any]:
        """Return the state as a flat dictionary of arrays."""
        return {
            "book": self.book.copy(),
            "values": self.values.copy(),
            "heap": self.heap.copy(),
            "where": self.where.copy(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up the state of a book of the same choice and capacity."""
        slots = len(self.heap)
        expected = {
            "book": ArrayOf("float64", (len(self.book),)),
            "values": ArrayOf("float64", (len(self.values),)),
            "heap": ArrayOf("int32", (slots,), low=0, below=max(slots, 1)),
            "where": ArrayOf("int32", (slots,), low=-1, below=max(slots, 1)),
        }
        check_state(state, expected)
        book, heap, where = state["book"], state["heap"], state["where"]
        check_numbers("book", book, self.book, settled=(KIND, BUDGET, STEP), counts={ACTIVE: slots})
        active = int(book[ACTIVE])
        if (where[heap[:active]] != np.arange(active)).any() or np.count_nonzero(where >= 0) != active:
            raise ValueError("where must give the place of each slot in the heap, got others")
        for name in ("book", "values", "heap", "where"):
            getattr(self, name)[:] = state[name]
