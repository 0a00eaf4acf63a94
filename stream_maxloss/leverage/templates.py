"""Template sets: which coordinates a leveraging step may move, and how far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.leverage.signed_rows import SignedRows, largest_entries

__all__ = ["Condition", "Parallel", "RowCondition", "Sequential", "TemplateSet", "Templates", "TotalCondition"]

Vector = NDArray[np.float64]
# A template scaled to meet its condition exactly may pass it by a rounding.
ROUNDING = 1e-9


class RowCondition:
    """sum_j a_j |M_ij| <= 1 in every row i (Krause & Singer 2004, Figure 1)."""

    def __init__(self, rows: SignedRows) -> None:
        self.names = rows.names
        self._absolute = abs(rows.matrix)

    def unit_limits(self) -> Vector:
        """Return, for each column j, the largest c for which the template c e_j is allowed: 1 / max_i |M_ij|."""
        return _inverse(largest_entries(self._absolute, axis=0), 1.0)

    def uniform_limit(self) -> float:
        """Return the largest c for which the template (c, ..., c) is allowed: 1 / max_i ||M_i||_1."""
        return float(_inverse(np.array([np.asarray(self._absolute.sum(axis=1)).max()]), 1.0)[0])

    def check(self, template: Vector, what: str) -> None:
        """Raise a ValueError that names the row in which the template reaches too far."""
        usage = np.asarray(self._absolute @ template)
        worst = int(usage.argmax())
        if usage[worst] > 1.0 + ROUNDING:
            raise ValueError(
                f"{what} must satisfy sum_j a_j |M_ij| <= 1 in every row, got {usage[worst]:.6g} in row {worst}; "
                "scale the rows or the template down"
            )


class TotalCondition:
    """sum_ij a_j M_ij^2 <= 2 over all rows (Krause & Singer 2004, Figure 2)."""

    def __init__(self, rows: SignedRows) -> None:
        self.names = rows.names
        self._squares = np.asarray((rows.matrix * rows.matrix).sum(axis=0))

    def unit_limits(self) -> Vector:
        """Return 2 / sum_i M_ij^2."""
        return _inverse(self._squares, 2.0)

    def uniform_limit(self) -> float:
        """Return 2 / sum_ij M_ij^2."""
        return float(_inverse(np.array([self._squares.sum()]), 2.0)[0])

    def check(self, template: Vector, what: str) -> None:
        """Raise a ValueError that names the column that takes most of what is allowed, where it is too much."""
        usage = template * self._squares
        if usage.sum() > 2.0 + ROUNDING:
            worst = int(usage.argmax())
            raise ValueError(
                f"{what} must satisfy sum_ij a_j M_ij^2 <= 2, got {usage.sum():.6g}, "
                f"most of it ({usage[worst]:.6g}) in column {self.names[worst]!r}; scale the rows or the template down"
            )


Condition: TypeAlias = RowCondition | TotalCondition


class Templates(Protocol):
    """A set A of templates: non-negative vectors a, one of which scales each step."""

    def bind(self, condition: Condition) -> Templates:
        """Return this set with its steps fixed for one table, after checking the requirement on it."""

    def best(self, gains: Vector) -> Vector:
        """Return argmax over a in A of sum_j a_j gains_j."""


class Parallel:
    """One template, (step, ..., step): every step moves all coordinates.

    Parameters
    ----------
    step
        The paper's A = {(1, ..., 1)} is `step=1`, and asks for rows small enough. None (default) takes the
        largest step that the rows allow, which is the same fit as scaling the rows down and the result back.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.leverage import LLM, Parallel
    >>> X, y = np.array([[2.0, 1.0], [-1.0, 1.0]]), np.array([1, -1])
    >>> LLM(templates=Parallel(step=1.0)).fit(X, y)
    Traceback (most recent call last):
    ...
    ValueError: template 0 must satisfy sum_j a_j |M_ij| <= 1 in every row, got 3 in row 0; ...

    """

    def __init__(self, step: float | None = None) -> None:
        self.step = _checked_step(step)
        self._template: Vector | None = None

    def bind(self, condition: Condition) -> Parallel:
        """Fix the step."""
        bound = Parallel(self.step)
        step = condition.uniform_limit() if self.step is None else self.step
        bound._template = np.full(len(condition.names), step)
        condition.check(bound._template, "template 0")
        return bound

    def best(self, gains: Vector) -> Vector:
        """Return the one template."""
        if self._template is None:
            raise ValueError("templates must be bound to a table first, got unbound ones; fit does so")
        return self._template


class Sequential:
    """The templates step_j e_j: every step moves the one coordinate that promises most.

    Parameters
    ----------
    step
        The paper's A = {e_1, ..., e_n} is `step=1`. None (default) takes, for each column, the largest step
        that the rows allow.

    """

    def __init__(self, step: float | None = None) -> None:
        self.step = _checked_step(step)
        self._steps: Vector | None = None

    def bind(self, condition: Condition) -> Sequential:
        """Fix the steps."""
        bound = Sequential(self.step)
        limits = condition.unit_limits()
        bound._steps = limits if self.step is None else np.full(len(limits), self.step)
        for column in np.flatnonzero(bound._steps > limits * (1.0 + ROUNDING)).tolist():
            unit = np.where(np.arange(len(limits)) == column, bound._steps, 0.0)
            condition.check(unit, f"template {column} (column {condition.names[column]!r})")
        return bound

    def best(self, gains: Vector) -> Vector:
        """Return the template of the column with the largest gain."""
        if self._steps is None:
            raise ValueError("templates must be bound to a table first, got unbound ones; fit does so")
        column = int((self._steps * gains).argmax())
        template = np.zeros(len(gains))
        template[column] = self._steps[column]
        return template


class TemplateSet:
    """Any finite set of templates, one a row.

    Parameters
    ----------
    templates
        Non-negative vectors, as many entries each as the table has columns (the intercept, if any, is the
        last). Every column must be positive in one of them, and each must meet the requirement of the fit.

    Examples
    --------
    Two blocks of columns, each moved in parallel:

    >>> import numpy as np
    >>> from stream_maxloss.leverage import LLD, TemplateSet
    >>> X, y = np.eye(4), np.array([1, 1, -1, -1])
    >>> fit = LLD(mu=4.0, templates=TemplateSet([[1, 1, 0, 0], [0, 0, 1, 1]]), iterations=2).fit(X, y)
    >>> fit.coefficients.round(3).tolist()
    [0.482, 0.482, -0.482, -0.482]

    """

    def __init__(self, templates: Sequence[Sequence[float]] | NDArray[Any]) -> None:
        self.templates = np.array(templates, dtype=np.float64)
        if self.templates.ndim != 2 or 0 in self.templates.shape:
            raise ValueError(f"templates must be a table of at least one template, got shape {self.templates.shape}")

    def bind(self, condition: Condition) -> TemplateSet:
        """Check every template against the table."""
        width = len(condition.names)
        if self.templates.shape[1] != width:
            raise ValueError(
                f"templates must have one entry for each of the {width} columns, got {self.templates.shape[1]}"
            )
        wrong = np.argwhere(~(self.templates >= 0.0))
        if len(wrong):
            row, column = wrong[0]
            value = float(self.templates[row, column])
            raise ValueError(
                f"template {row} must be non-negative, got {value!r} in column {condition.names[column]!r}"
            )
        missed = np.flatnonzero(self.templates.max(axis=0) == 0.0)
        if len(missed):
            name = condition.names[missed[0]]
            raise ValueError(f"column {name!r} must be positive in some template, got 0 in all; it could never move")
        for row, template in enumerate(self.templates):
            condition.check(template, f"template {row}")
        return self

    def best(self, gains: Vector) -> Vector:
        """Return the template with the largest sum of gains."""
        return self.templates[int((self.templates @ gains).argmax())]


def bind_templates(templates: Templates | Literal["parallel", "sequential"], condition: Condition) -> Templates:
    """Resolve the two names, and check the requirement on the templates and the rows together."""
    if isinstance(templates, str):
        named: dict[str, Templates] = {"parallel": Parallel(), "sequential": Sequential()}
        if templates not in named:
            raise ValueError(f"templates must be 'parallel', 'sequential' or a template set, got {templates!r}")
        templates = named[templates]
    return templates.bind(condition)


def _inverse(usage: Vector, limit: float) -> Vector:
    # A column (or table) of zeros restricts nothing and never moves: any positive step will do.
    return np.divide(limit, usage, out=np.ones_like(usage, dtype=np.float64), where=usage > 0.0)


def _checked_step(step: float | None) -> float | None:
    if step is not None and not step > 0.0:
        raise ValueError(f"step must be positive, got {step!r}; None takes the largest step allowed")
    return step
