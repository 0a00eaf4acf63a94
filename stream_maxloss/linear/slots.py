"""Linear learners of one kind and the same columns as pieces of shared memory, without objects of their own.

What such a learner has learned is one block of numbers: its memory, and behind it the statistics of its scaler. Of a
hundred thousand learners that have a row or two in a batch, making and calling objects takes nearly all of the time; a
kernel needs no more than an address.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.batch_checks import Labelled
from stream_maxloss.linear.grouped import linear_parts, takes_matrix
from stream_maxloss.linear.learner import Learner
from stream_maxloss.linear.memory import Floats
from stream_maxloss.linear.passes import run_rows
from stream_maxloss.linear.scaler import Scaler
from stream_maxloss.linear.statistics import run_scaled
from stream_maxloss.machine.pointers import address_of, move_bytes
from stream_maxloss.rows import Rows

__all__ = ["Slots", "open_slots"]

# Bytes that are taken from the system at once.
CHUNK = 2 << 20
TRANSIENT = [layout.ROW_LENGTH, layout.TICKET, layout.BUSY]


def open_slots(make: Callable[[], Any], names: list[Hashable]) -> Slots | None:
    """Return room for learners of these columns; None if what `make` returns is another model, or has other columns."""
    model = make()
    parts = linear_parts(model)
    if parts is None or not names or not takes_matrix(parts[1], names):
        return None
    scaler, learner = parts
    learner._model._make_room()
    if scaler is not None:
        scaler._features.add(names)
        scaler._make_room()
    slots = Slots(make, model, names)
    return slots if slots.fits(model) else None


class Slots:
    """Blocks of learners by address.

    Parameters
    ----------
    make
        Returns a learner as each begins, or a pipeline of a scaler and one.
    fresh
        One of those with room for the columns.
    names
        The columns, in their order.

    """

    def __init__(self, make: Callable[[], Any], fresh: Any, names: list[Hashable]) -> None:
        self.names = names
        self._make = make
        self._scaler, self._learner = parts_of(fresh)
        self._view = fresh
        self._memory_length = len(self._learner._model.memory)
        self._room = 0 if self._scaler is None else self._scaler._statistics.shape[1]
        self.length = self._memory_length + 3 * self._room
        self._fresh = self._block_of(self._scaler, self._learner)
        self._chunks: list[Floats] = []
        self._free: list[int] = []

    @property
    def nbytes(self) -> int:
        """Bytes of a block."""
        return 8 * self.length

    @property
    def takes_absent(self) -> bool:
        """Whether rows may lack values: not of multiplicative learners, whose weights do not begin at 0."""
        return not any(self._learner._model.initial)

    def new(self) -> int:
        """Return the address of a learner that has learned nothing yet."""
        return self._put(self._fresh)

    def fits(self, model: Any) -> bool:
        """Return whether a model has these columns, and a block of this length."""
        scaler, learner = parts_of(model)
        own = learner._model
        if len(own.memory) != self._memory_length or own.features.names != self.names:
            return False
        if scaler is None:
            return True
        return scaler._statistics.shape[1] == self._room and scaler._features.is_same_as(own.features)

    def take(self, model: Any) -> int:
        """Return the address of what a model that fits has learned."""
        return self._put(self._block_of(*parts_of(model)))

    def give(self, address: int) -> Any:
        """Return a model with what was learned at an address."""
        model = self._make()
        scaler, learner = parts_of(model)
        self._fill(scaler, learner, self.copy([address])[0])
        return model

    def view(self, address: int) -> Any:
        """Return the same until the next call, to look at: one model serves for all."""
        self._fill(self._scaler, self._learner, self.copy([address])[0])
        return self._view

    def free(self, address: int) -> None:
        """Forget what was learned at an address."""
        self._free.append(address)

    def copy(self, addresses: list[int]) -> Floats:
        """Return the blocks at some addresses, one a row."""
        blocks, nbytes = np.empty((len(addresses), self.length)), self.nbytes
        goal = address_of(blocks)
        for place, address in enumerate(addresses):
            move_bytes(goal + place * nbytes, address, nbytes)
        return blocks

    def put_back(self, addresses: list[int], blocks: Floats) -> None:
        """Put copies of blocks back to where they were."""
        source, nbytes = address_of(blocks), self.nbytes
        for place, address in enumerate(addresses):
            move_bytes(address, source + place * nbytes, nbytes)

    def learn(self, stretches: list[tuple[int, int, int]], rows: Rows, labelled: Labelled) -> int:
        """Score, then learn, rows of a matrix: of each (address, first, last) those from `first` to before `last`.

        Return the place of the stretch with a row that was refused, after which nothing was learned; -1 if none was.
        """
        run = self._run_plain if self._scaler is None else self._run_scaled
        return run(stretches, rows, labelled)

    def _run_plain(self, stretches: list[tuple[int, int, int]], rows: Rows, labelled: Labelled) -> int:
        run = run_rows(self._learner._model.program, True)
        _, _, columns, width, values = rows.addresses()
        targets, weights, scores = labelled.addresses()
        for place, (m, first, last) in enumerate(stretches):
            at, data = 8 * first, values + 8 * width * first
            row, _ = run(m, last - first, 0, columns, width, data, targets + at, weights + at, scores + at)
            if row >= 0:
                return place
        return -1

    def _run_scaled(self, stretches: list[tuple[int, int, int]], rows: Rows, labelled: Labelled) -> int:
        scaler, room, behind = self._scaler, self._room, 8 * self._memory_length
        if scaler is None:
            raise RuntimeError("there must be a scaler, got none")
        run, clip = run_scaled(self._learner._model.program), scaler._limit
        _, _, columns, width, values = rows.addresses(spelt_out=True)
        targets, weights, scores = labelled.addresses()
        own, row_columns, row_values = np.arange(width), np.empty(width, dtype=np.int64), np.empty(width)
        scaled, places, shown = address_of(own), address_of(row_columns), address_of(row_values)
        for place, (m, first, last) in enumerate(stretches):
            at, data = 8 * first, values + 8 * width * first
            row, _ = run(
                *(m, m + behind, room, scaled, last - first, 0, columns, width, data),
                *(targets + at, weights + at, scores + at, places, shown, clip),
            )
            if row >= 0:
                return place
        return -1

    def _put(self, block: Floats) -> int:
        if not self._free:
            blocks = np.empty((max(1, CHUNK // self.nbytes), self.length))
            self._chunks.append(blocks)
            begin = address_of(blocks)
            self._free = [begin + place * self.nbytes for place in reversed(range(len(blocks)))]
        address = self._free.pop()
        move_bytes(address, address_of(block), self.nbytes)
        return address

    def _block_of(self, scaler: Scaler | None, learner: Learner) -> Floats:
        statistics = np.empty(0) if scaler is None else scaler._statistics.ravel()
        block = np.concatenate([learner._model.memory, statistics])
        block[TRANSIENT] = 0.0
        return block

    def _fill(self, scaler: Scaler | None, learner: Learner, block: Floats) -> None:
        learner._model.features.add(self.names)
        learner._model._replace(block[: self._memory_length].copy())
        if scaler is not None:
            scaler._features.add(self.names)
            scaler._statistics = block[self._memory_length :].reshape(3, self._room).copy()


def parts_of(model: Any) -> tuple[Scaler | None, Learner]:
    """Return the scaler and the learner of a model that is known to be linear."""
    parts = linear_parts(model)
    if parts is None:
        raise TypeError(f"a model must be linear to be a block of numbers, got {model!r}")
    return parts
