"""The gate of a window: carries out an admission policy, row by row or for a whole batch.

It draws from a generator of its own and looks at labels only, so the slots of a batch can be settled before the first
of its rows is learned.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from stream_maxloss.described import ArrayOf, check_state
from stream_maxloss.focus.admission import (
    ADMITTED,
    CAPACITY,
    CLASSES,
    COUNT,
    HELD,
    SEEN,
    Admission,
    AdmitAll,
    Floats,
    Integers,
)
from stream_maxloss.machine.compiled import compiled, inner, made_once
from stream_maxloss.random import make_generator, restore_generator

__all__ = ["Gate"]

NO_LABEL = np.zeros(1, dtype=np.int64)


@made_once
def settling(place: Callable[..., int]) -> Any:
    """Return the compiled loop of a policy, from the numbers of the labels to the slots.

    It returns -1, or the row whose slot a kernel must not be given: slots fill in order and lie within the window.
    """
    place_one = inner(place)

    @compiled
    def settle(
        counts: Integers,
        settings: Floats,
        generator: Any,
        queues: Integers,
        following: Integers,
        codes: Integers,
        slots: Integers,
    ) -> int:
        for k in range(len(codes)):
            slot = place_one(counts, settings, generator, queues, following, codes[k])
            slots[k] = slot
            if slot < -1 or slot >= counts[CAPACITY] or slot > counts[HELD]:
                return k
            counts[SEEN] += 1
            if slot >= 0:
                counts[ADMITTED] += 1
                counts[HELD] = max(counts[HELD], slot + 1)
        return -1

    return settle


class Gate:
    """Carries out a policy over a window of so many slots.

    Parameters
    ----------
    admission
        The policy.
    capacity
        Number of slots in the window.
    seed
        Seed of the chances that the policy takes.

    Examples
    --------
    >>> from stream_maxloss.focus.admission import ClassQuota
    >>> from stream_maxloss.focus.gate import Gate
    >>> gate = Gate(ClassQuota(quota=2), capacity=3)
    >>> [gate.settle(label) for label in ["a", "a", "a", "b", "b"]]
    [0, 1, 0, 2, 1]

    """

    def __init__(self, admission: Admission, capacity: int, seed: int | None = None) -> None:
        self.admission = admission
        self.counts = np.zeros(7, dtype=np.int64)
        self.counts[CAPACITY] = capacity
        self.settings = np.array(admission.settings, dtype=np.float64)
        self.generator = make_generator(seed)
        self.labels: dict[Hashable, int] = {}
        self.queues = np.zeros((3, 2), dtype=np.int64)
        self.following = np.zeros(capacity if admission.by_label else 0, dtype=np.int64)

    @property
    def by_label(self) -> bool:
        """Whether labels matter."""
        return self.admission.by_label

    @property
    def seen(self) -> int:
        """Number of rows that came to the gate."""
        return int(self.counts[SEEN])

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return int(self.following.nbytes + self.queues.nbytes + self.counts.nbytes + self.generator.nbytes)

    def settle(self, label: Hashable) -> int:
        """Return the slot that a row takes, or -1 if it does not enter."""
        if type(self.admission) is AdmitAll:
            return self._take_in_turn(1) % self.counts.item(CAPACITY)
        slot = np.empty(1, dtype=np.int64)
        self._settle(np.array([self._code(label)], dtype=np.int64) if self.by_label else NO_LABEL, slot)
        return int(slot[0])

    def settle_many(self, labels: Any) -> Integers:
        """Return the slots of several rows in order, -1 for those that do not enter."""
        if type(self.admission) is AdmitAll:
            first = self._take_in_turn(len(labels))
            return np.arange(first, first + len(labels), dtype=np.int64) % self.counts.item(CAPACITY)
        slots = np.empty(len(labels), dtype=np.int64)
        if not self.by_label:
            self._settle(np.zeros(len(labels), dtype=np.int64), slots)
            return slots
        # One by one: the equal share depends on the classes seen up to the row.
        for k, label in enumerate(labels):
            self._settle(np.array([self._code(label)], dtype=np.int64), slots[k : k + 1])
        return slots

    def _settle(self, codes: Integers, slots: Integers) -> None:
        settle = settling(type(self.admission).place)
        row = settle(self.counts, self.settings, self.generator, self.queues, self.following, codes, slots)
        if row >= 0:
            raise ValueError(
                f"{self.admission!r} must place a row in a slot from 0 to {self.counts[HELD]} of "
                f"{self.counts[CAPACITY]}, or -1, got {slots[row]}; slots fill in order"
            )

    def _take_in_turn(self, rows: int) -> int:
        """Count what `AdmitAll.place` does, without compiling it: the way of most windows; return the rows before."""
        counts = self.counts
        first = counts.item(ADMITTED)
        counts[SEEN] += rows
        counts[ADMITTED] = first + rows
        counts[HELD] = min(first + rows, counts.item(CAPACITY))
        return first

    def _code(self, label: Hashable) -> int:
        if isinstance(label, np.generic):
            label = label.item()
        code = self.labels.setdefault(label, len(self.labels))
        if code >= self.queues.shape[1]:
            self.queues = np.concatenate([self.queues, np.zeros_like(self.queues)], axis=1)
        self.counts[CLASSES] = len(self.labels)
        return code

    def state_dict(self) -> dict[str, Any]:
        """Return the state as a flat dictionary; the labels must be numbers, text or booleans."""
        return {
            "counts": self.counts.copy(),
            "generator": self.generator.copy(),
            "labels": list(self.labels),
            "table": self.queues.copy(),
            "following": self.following.copy(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up the state of a gate of the same policy and capacity."""
        capacity = int(self.counts[CAPACITY])
        expected = {
            "counts": ArrayOf("int64", (len(self.counts),), low=0),
            "generator": ArrayOf("uint64", (len(self.generator),)),
            "table": ArrayOf("int64", (3, "classes"), low=0, high=capacity),
            "following": ArrayOf("int64", (len(self.following),), low=0, below=capacity),
        }
        room = check_state(state, expected)["classes"]
        counts, queues = state["counts"], state["table"]
        labels = {label: code for code, label in enumerate(state["labels"])}
        if counts[CAPACITY] != capacity or counts[HELD] > capacity or not counts[CLASSES] == len(labels) <= room:
            raise ValueError(
                f"counts must be those of {capacity} slots and {len(labels)} labels, got {counts.tolist()}"
            )
        if self.admission.held(counts) not in (None, counts[HELD]):
            raise ValueError(f"counts must be those of {self.admission!r}, got {counts.tolist()}")
        held = queues[:, : len(labels)]
        if (held[:COUNT] >= capacity).any() or (self.by_label and held[COUNT].sum() != counts[HELD]):
            raise ValueError(f"table must hold the {counts[HELD]} rows of the window by class, got {queues.tolist()}")
        self.counts[:] = counts
        restore_generator(self.generator, state["generator"])
        self.labels = labels
        self.queues = queues.copy()
        self.following[:] = state["following"]
