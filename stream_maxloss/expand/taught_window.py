"""The rows that ferns are taught on: their values, targets, leaves, and what the leaves say of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.classes import Classes
from stream_maxloss.described import check_name
from stream_maxloss.random import next_uniform

__all__ = ["TaughtWindow"]

Floats = NDArray[np.float64]


class TaughtWindow:
    """The last rows, the oldest first.

    Parameters
    ----------
    rows
        How many are kept.
    ferns
        Ferns that there may be.

    """

    def __init__(self, rows: int, ferns: int) -> None:
        self.rows, self.ferns = rows, ferns
        self.seen = 0
        self.classes = Classes()
        # Whether targets are numbers; the first one tells.
        self.is_number = False
        self.values: deque[dict[Hashable, float]] = deque(maxlen=rows)
        self.targets: deque[float] = deque(maxlen=rows)
        self.leaves: deque[list[int]] = deque(maxlen=rows)
        # By output, what the leaves of a row add up to; outputs that are 0 are left out.
        self.scores: deque[dict[int, float]] = deque(maxlen=rows)

    def add(self, values: dict[Hashable, float], y: Any, leaves: list[int], said: list[tuple[int, float]]) -> None:
        """Keep a row.

        Raises
        ------
        ValueError
            If the label is missing.

        """
        if self.seen == 0:
            self.is_number = isinstance(y, float | np.floating)
        target = float(y) if self.is_number else float(self.classes.add(y))
        if not np.isfinite(target):
            raise ValueError(f"label must be finite, got {y!r}; leave the row out")
        scores: dict[int, float] = {}
        for output, step in said:
            scores[output] = scores.get(output, 0.0) + float(step)
        self.seen += 1
        self.values.append(values)
        self.targets.append(target)
        self.leaves.append(leaves)
        self.scores.append(scores)

    def column(self, name: Hashable) -> NDArray[np.float32]:
        """Return one column of all rows, minus infinity where it is absent."""
        return np.array([row.get(name, -np.inf) for row in self.values], dtype=np.float32)

    def leaves_of(self, fern: int) -> NDArray[np.int64]:
        """Return the leaf of each row in one fern."""
        return np.array([leaves[fern] for leaves in self.leaves], dtype=np.int64)

    def residuals(self, generator: Any) -> tuple[int, Floats, Floats]:
        """Return the output that the next fern is for, and -dl/ds and d2l/ds2 of each row."""
        targets = np.array(self.targets)
        outputs = 1 if self.is_number else self.classes.outputs
        scores = np.array([[row.get(output, 0.0) for output in range(outputs)] for row in self.scores])
        if self.is_number:
            deviation = targets.std() or 1.0
            return 0, (targets - targets.mean()) / deviation - scores[:, 0], np.ones(len(targets))
        if outputs == 1:
            p = 1.0 / (1.0 + np.exp(-scores[:, 0]))
            return 0, (targets == 1.0) - p, p * (1.0 - p)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        wrong = (targets[:, np.newaxis] == np.arange(outputs)) - shares
        # The output of a lesson is drawn by the square of what each still gets wrong.
        mass = np.cumsum(np.abs(wrong).sum(axis=0) ** 2)
        output = min(int(np.searchsorted(mass, next_uniform(generator) * mass[-1], side="right")), outputs - 1)
        return output, wrong[:, output], shares[:, output] * (1.0 - shares[:, output])

    def move(self, fern: int, leaves: NDArray[np.int64], output: int, steps: Floats) -> None:
        """Let rows have these leaves in a fern, and move what is said of them by what the leaves stand for."""
        moved = steps[leaves].tolist()
        for row, scores, leaf, step in zip(self.leaves, self.scores, leaves.tolist(), moved, strict=True):
            row[fern : fern + 1] = [leaf]
            scores[output] = scores.get(output, 0.0) + step

    def state_dict(self) -> dict[str, Any]:
        """Return the rows as JSON."""
        return {
            "seen": self.seen,
            "is_number": self.is_number,
            "classes": self.classes.state_dict(),
            "values": [[[name, value] for name, value in row.items()] for row in self.values],
            "targets": list(self.targets),
            "leaves": [list(leaves) for leaves in self.leaves],
            "scores": [[[output, score] for output, score in row.items()] for row in self.scores],
        }

    def load_state_dict(self, state: Mapping[str, Any], depth: int) -> None:
        """Take over what `state_dict` returned.

        Raises
        ------
        ValueError
            If there are more rows than are kept, or leaves that no fern of this depth has.

        """
        lengths = {len(state[name]) for name in ("values", "targets", "leaves", "scores")}
        if lengths != {min(int(state["seen"]), self.rows)}:
            raise ValueError(f"state must have the last {self.rows} rows, got {sorted(lengths)}")
        if any(not 0 <= leaf < 1 << depth for leaves in state["leaves"] for leaf in leaves):
            raise ValueError(f"leaves must be those of {depth} tests; load it with the same parameters")
        self.seen, self.is_number = int(state["seen"]), bool(state["is_number"])
        self.classes.load_state_dict(state["classes"])
        self.values.extend({check_name(name): float(value) for name, value in row} for row in state["values"])
        self.targets.extend(float(target) for target in state["targets"])
        self.leaves.extend([int(leaf) for leaf in leaves] for leaves in state["leaves"])
        self.scores.extend({int(output): float(score) for output, score in row} for row in state["scores"])
