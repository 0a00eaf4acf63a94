"""A linear separator of a table by linear programming, or the proof that there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.leverage.linear_fit import LinearFit
from stream_maxloss.leverage.signed_rows import is_sparse, largest_entries, read_signed_rows, scale_rows, with_column

__all__ = ["Inseparability", "LinearSeparator", "shortest_separator"]


@dataclass(frozen=True)
class Inseparability:
    """The proof that no hyperplane separates a table: a mean of its signed rows that is (nearly) zero.

    Weights u >= 0 that sum to 1, with sum_i u_i y_i x_i = 0. Any w with y_i <w, x_i> > 0 for all i would make
    that sum's product with w positive, and it is 0 (Farkas' lemma, in Gordan's form).

    Parameters
    ----------
    weights
        u, one entry a row; at most one more is positive than there are columns.
    residual
        The largest entry of |sum_i u_i y_i x_i|: 0 in exact arithmetic.

    """

    weights: NDArray[np.float64]
    residual: float

    @property
    def rows(self) -> NDArray[np.intp]:
        """The rows that contradict each other."""
        return np.flatnonzero(self.weights)

    @property
    def norm_floor(self) -> float:
        """What the proof still shows with its rounding: y_i <w, x_i> >= 1 for all i needs ||w||_1 above this."""
        return np.inf if self.residual == 0.0 else 1.0 / self.residual


class LinearSeparator(LinearFit):
    """Find w with y_i <w, x_i> > 0 for all rows, or prove that none exists.

    Scaling w turns the strict inequalities into y_i <w, x_i> >= 1, a linear program with any objective
    (Kesselheim, *Efficient Empirical Risk Minimization*, Section 2), which scipy's HiGHS solves. Where it is
    infeasible, a second program finds the weights of `Inseparability`. Either answer is checked against the
    table before it is given, so `separable` tells whether the window is realisable at all: if it is not, no
    mistake bound applies, and a learner for noise (`LLM`, `LLD`) is the one to take.

    Parameters
    ----------
    intercept
        Add a constant feature: any hyperplane instead of one through the origin.

    Raises
    ------
    ArithmeticError
        When the table is so close to the border that neither answer holds up in floating point.

    Notes
    -----
    After `fit`: `separable`; then either `coefficients`, `bias` and `margin` (the smallest distance of a row to
    the hyperplane, in the space with the constant feature), or `proof`. A row of zeros is on every hyperplane
    through the origin, and is by itself a proof.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.leverage import LinearSeparator
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> LinearSeparator(intercept=True).fit(X, [0, 1, 1, 1]).separable  # or
    True
    >>> exclusive_or = LinearSeparator(intercept=True).fit(X, [0, 1, 1, 0])
    >>> exclusive_or.separable, exclusive_or.proof.weights.tolist()
    (False, [0.25, 0.25, 0.25, 0.25])

    """

    def __init__(self, intercept: bool = False) -> None:
        super().__init__(intercept)
        self.separable: bool | None = None
        self.margin: float | None = None
        self.proof: Inseparability | None = None

    def fit(self, X: Any, y: Any = None) -> LinearSeparator:
        """Decide for a table and its labels, or for a model's retained window."""
        matrix = self._read(X, y).matrix
        self.margin, self.proof = None, None
        self._solution = separate(matrix)
        if self._solution is not None:
            self.margin = float((matrix @ self._solution).min() / np.linalg.norm(self._solution))
        else:
            self.proof = contradict(matrix)
        self.separable = self.proof is None
        return self


def shortest_separator(X: Any, y: Any = None, intercept: bool = False) -> NDArray[np.float64]:
    """Return the shortest w with y_i <w, x_i> >= 1 for all rows; its length is B of the Perceptron's bound.

    A least-distance problem, solved exactly as a non-negative least-squares one (Lawson & Hanson 1974,
    chapter 23): minimise ||E u - f|| over u >= 0 with E = [M^T; 1^T], f = (0, ..., 0, 1); with the residual r,
    w = -r_{1..n} / r_{n+1}. For tables of up to some thousand rows.

    Raises
    ------
    ValueError
        When no w separates the rows.

    Examples
    --------
    >>> from stream_maxloss.leverage import shortest_separator
    >>> shortest_separator([[2.0, 0.0], [4.0, 1.0], [-2.0, 5.0]], [1, 1, -1]).round(6).tolist()
    [0.5, 0.0]

    """
    from scipy.optimize import nnls

    matrix = read_signed_rows(X, y, intercept).matrix
    matrix = matrix.toarray() if is_sparse(matrix) else matrix
    target = np.zeros(matrix.shape[1] + 1)
    target[-1] = 1.0
    system = np.vstack((matrix.T, np.ones(matrix.shape[0])))
    residual = system @ nnls(system, target, maxiter=30 * max(system.shape))[0] - target
    if residual[-1] < 0.0:
        solution = -residual[:-1] / residual[-1]
        smallest = (matrix @ solution).min()
        # A rounding short of 1 is mended by scaling; anything else means that the rows have no separator.
        if smallest > 1.0 - 1e-6:
            return solution / min(smallest, 1.0)
    raise ValueError("rows must be separable to have a shortest separator, got contradicting ones; see LinearSeparator")


def separate(matrix: Any) -> NDArray[np.float64] | None:
    """Return w with M w > 0, or None where the program finds none."""
    from scipy.optimize import linprog

    sizes = largest_entries(matrix, axis=1)
    if not sizes.all():
        return None
    scaled = scale_rows(matrix, 1.0 / sizes)
    rows, columns = scaled.shape
    answer = linprog(np.zeros(columns), A_ub=-scaled, b_ub=-np.ones(rows), bounds=(None, None), method="highs")
    return answer.x if answer.success and (matrix @ answer.x).min() > 0.0 else None


def contradict(matrix: Any) -> Inseparability:
    """Return weights under which the rows of M cancel out."""
    from scipy.optimize import linprog

    sizes = largest_entries(matrix, axis=1)
    weights = np.zeros(matrix.shape[0])
    if not sizes.all():
        weights[int(sizes.argmin())] = 1.0
        return Inseparability(weights, 0.0)
    scaled = scale_rows(matrix, 1.0 / sizes)
    rows, columns = scaled.shape
    system = with_column(scaled, np.ones(rows)).T
    target = np.zeros(columns + 1)
    target[-1] = 1.0
    # The dual simplex ends in a vertex, which names the fewest rows; an interior point would name them all.
    answer = linprog(np.zeros(rows), A_eq=system, b_eq=target, bounds=(0.0, None), method="highs-ds")
    if not answer.success or answer.x is None:
        raise ArithmeticError(
            "rows must be clearly separable or clearly not, got a table on the border; scale its columns and try again"
        )
    weights = np.maximum(answer.x, 0.0) / sizes
    weights /= weights.sum()
    return Inseparability(weights, float(np.abs(matrix.T @ weights).max()))
