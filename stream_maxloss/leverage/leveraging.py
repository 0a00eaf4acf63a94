"""The iterations that the leveraging fits share: a direction, a template that scales it, a step."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.leverage.linear_fit import LinearFit
from stream_maxloss.leverage.signed_rows import SignedRows
from stream_maxloss.leverage.templates import Condition, Templates, bind_templates

__all__ = ["Leveraging"]

Vector = NDArray[np.float64]


class Leveraging(LinearFit):
    """A fit that lowers a loss of the margins z = M lambda by the steps lambda += a d (Krause & Singer 2004).

    A fit chooses the loss, the direction d, the decrease of the loss that each column guarantees, and the condition on
    the templates. The template a is the one with the largest sum_j a_j gains_j, which `progress` records.
    """

    _condition: Callable[[SignedRows], Condition]

    def __init__(
        self,
        templates: Templates | Literal["parallel", "sequential"],
        iterations: int,
        tolerance: float,
        intercept: bool,
        warm_start: bool,
    ) -> None:
        super().__init__(intercept)
        if iterations < 0:
            raise ValueError(f"iterations must not be negative, got {iterations!r}")
        if not tolerance >= 0.0:
            raise ValueError(f"tolerance must not be negative, got {tolerance!r}; 0 stops at a stationary point only")
        self.templates = templates
        self.iterations = iterations
        self.tolerance = tolerance
        self.warm_start = warm_start
        self.losses: Vector = np.empty(0)
        self.progress: Vector = np.empty(0)

    @abc.abstractmethod
    def _loss(self, margins: Vector) -> Vector:
        """Return the loss of each row."""

    @abc.abstractmethod
    def _direction(self, rows: SignedRows, margins: Vector, iteration: int) -> tuple[Vector, Vector]:
        """Return d, and what each column lowers the loss by at least where its entry of the template is 1."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to a table and its labels, or to a model's retained window."""
        self._descend(self._read(X, y))
        return self

    def _descend(self, rows: SignedRows) -> Vector:
        """Take the steps, and return the margins they lead to."""
        templates = bind_templates(self.templates, self._condition(rows))
        solution = self._start(rows.matrix.shape[1])
        margins = rows.product(solution)
        losses, progress = [self._loss(margins).sum()], []
        for iteration in range(1, self.iterations + 1):
            direction, gains = self._direction(rows, margins, iteration)
            a = templates.best(gains)
            delta = a * direction
            solution += delta
            margins += rows.product(delta)
            progress.append(a @ gains)
            losses.append(self._loss(margins).sum())
            if progress[-1] <= self.tolerance:
                break
        self._solution = solution
        self.losses, self.progress = np.array(losses), np.array(progress)
        return margins

    def _start(self, columns: int) -> Vector:
        """Return lambda_1: the last solution where the fit goes on from it, else 0."""
        if not self.warm_start or self._solution is None:
            return np.zeros(columns)
        if len(self._solution) != columns:
            raise ValueError(
                f"X must have as many columns as the fit to continue, got {columns}; it had {len(self._solution)}"
            )
        return self._solution.copy()
