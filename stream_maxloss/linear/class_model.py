"""A model of a class each: more room in its memory as classes come."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.batches import score_rows
from stream_maxloss.linear.model import NOWHERE, LinearModel
from stream_maxloss.linear.passes import entry_point, inner_kernels, read_shortcut
from stream_maxloss.linear.program import Program
from stream_maxloss.linear.softmax import OWN_PARTS
from stream_maxloss.machine.compiled import compiled, made_once
from stream_maxloss.machine.dict_values import python_object
from stream_maxloss.machine.kinds import int64
from stream_maxloss.machine.pointers import address_of, load, store
from stream_maxloss.rows import Rows, read_row

__all__ = ["ClassModel"]

# Classes that there is always room for.
FEWEST = 2


class ClassModel(LinearModel):
    """A `LinearModel` whose program has a vector of weights for each class (`softmax_program`).

    Parameters
    ----------
    program, settings, others
        See `LinearModel`.

    """

    def __init__(self, program: Program, settings: tuple[float, ...] = (), **others: Any) -> None:
        super().__init__(program, settings, own=OWN_PARTS * FEWEST, **others)

    @property
    def room(self) -> int:
        """Number of classes that there is room for."""
        return int(self.memory[layout.OWN]) // OWN_PARTS

    @property
    def classes(self) -> int:
        """Number of classes that have come in a learned row."""
        return int(self.memory[layout.ADAPTED])

    def make_classes(self, count: int) -> None:
        """Make room for more classes."""
        if count > self.room:
            with self:
                vectors = len(self.initial) // self.room
                self.initial = (0.0,) * (vectors * count)
                self._replace(widened(self.memory, vectors, count))

    def room_for_scores(self, rows: int) -> NDArray[np.float64]:
        """Return room for the probabilities of some rows."""
        return np.empty((rows, self.room))

    def probabilities(self, x: Mapping[Hashable, Any]) -> NDArray[np.float64]:
        """Return the probability of each class there is room for."""
        said = np.empty((1, self.room))
        if self.shortcut is not NOWHERE and show_dict(self.program)(self.shortcut, x, address_of(said)) == 0.0:
            return said[0]
        columns, values = read_row(x, self.features, learn=False)
        return score_rows(self, Rows((), columns, values, np.array([0, len(columns)]), False))[0]

    def class_weights(self, number: int) -> tuple[NDArray[np.float64], float]:
        """Return the weights of a class, and that of the constant feature; 0 of two classes has the only ones."""
        vectors = len(self.initial) // self.room
        constants = self.memory[self.memory.size - (OWN_PARTS - 1) * self.room :]
        scale = self.memory[layout.SCALE]
        return scale * layout.vector(self.memory, vectors * number), float(scale * constants[number])

    def state_dict(self) -> dict[str, Any]:
        """Return everything that was learned, as arrays and JSON."""
        state = super().state_dict()
        # The probabilities of the row at hand are no part of it.
        memory, room = state["memory"], self.room
        memory[memory.size - OWN_PARTS * room : memory.size - (OWN_PARTS - 1) * room] = 0.0
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned.

        Raises
        ------
        ValueError
            If the state is of another kind of learner, or of one with other parameters. The model is then unchanged.

        """
        memory = np.array(state["memory"], dtype=np.float64)
        own = memory[layout.OWN] if memory.ndim == 1 and memory.size >= layout.HEADER else 0.0
        if not (OWN_PARTS * FEWEST <= own < memory.size and own % OWN_PARTS == 0.0):
            raise ValueError("state must come from the same kind of learner; load it into one of that class")
        room, classes = int(own) // OWN_PARTS, memory[layout.ADAPTED]
        if not (0.0 <= classes <= room and classes == int(classes)):
            raise ValueError(f"state must have room for its classes, got {classes} classes and room for {room}")
        before, initial = self.memory, self.initial
        vectors = len(initial) // self.room
        self.initial = (0.0,) * (vectors * room)
        # The same settings with as much room as the state has, for the checks of all learners.
        self.memory = widened(before, vectors, room) if room != self.room else before
        try:
            super().load_state_dict(state)
        except Exception:
            self.memory, self.initial = before, initial
            raise


def widened(memory: NDArray[np.float64], vectors: int, room: int) -> NDArray[np.float64]:
    """Return a copy with room for more classes of so many vectors each, or with less room and nothing learned."""
    capacity, old = int(memory[layout.CAPACITY]), int(memory[layout.OWN]) // OWN_PARTS
    kept = min(old, room)
    grown = layout.allocate(capacity, vectors * room, OWN_PARTS * room)
    grown[: layout.HEADER] = memory[: layout.HEADER]
    grown[layout.OWN] = OWN_PARTS * room
    start = layout.HEADER + capacity
    grown[start : start + vectors * kept * capacity] = memory[start : start + vectors * kept * capacity]
    source, goal = (part[part.size - OWN_PARTS * size :] for part, size in ((memory, old), (grown, room)))
    for part in range(OWN_PARTS):
        goal[part * room : part * room + kept] = source[part * old : part * old + kept]
    return grown


@made_once
def show_dict(program: Program) -> Any:
    """Return show(shortcut, x, goal) for dicts: write the probabilities and return 0, or NaN if it does not fit."""
    score = inner_kernels(program).score

    def show(shortcut: Any, x: Any, goal: int) -> float:
        m, row = read_shortcut(shortcut, x)
        if m == 0:
            return np.nan
        check, said, room = score(m, row)
        for c in range(room):
            store(goal, c, load(said, c))
        return 0.0 * check

    return entry_point(compiled(show), python_object, python_object, int64)
