"""Balanced Winnow."""

from __future__ import annotations

import math
from numbers import Real

from stream_maxloss.linear.additive import count
from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.memory import INTERCEPT, MISTAKES, U_INTERCEPT, V_INTERCEPT
from stream_maxloss.linear.model import LinearModel
from stream_maxloss.linear.program import Program
from stream_maxloss.linear.sums import Row, column_of, dot_arrived, vector_at
from stream_maxloss.linear.winnow import divide, factor_of, multiply, zero_one_loss
from stream_maxloss.machine.compiled import inner
from stream_maxloss.machine.pointers import load

__all__ = ["BalancedWinnow"]


@inner
def score(m: int, row: Row) -> float:
    """Return <v - u, x> with the constant feature."""
    total = dot_arrived(vector_at(m, 0), row) - dot_arrived(vector_at(m, 1), row)
    return total + load(m, V_INTERCEPT) - load(m, U_INTERCEPT)


@inner
def step(m: int, row: Row, score: float, target: float, weight: float) -> None:
    """Promote the weights of a mistaken row and demote their twins, or the other way round."""
    mistakes = load(m, MISTAKES)
    count(m, score, target)
    if load(m, MISTAKES) == mistakes:
        return
    v, u = vector_at(m, 0), vector_at(m, 1)
    for k in range(row[2]):
        exponent = target * weight * load(row[1], k)
        if exponent != 0.0:
            factor = factor_of(m, exponent)
            multiply(v, column_of(row, k), factor)
            divide(u, column_of(row, k), factor)
    if load(m, INTERCEPT) != 0.0:
        multiply(m, V_INTERCEPT, factor_of(m, target * weight))
        divide(m, U_INTERCEPT, factor_of(m, target * weight))


PROGRAM = Program("balanced winnow", score, step, zero_one_loss, code=8)


class BalancedWinnow(LinearClassifier):
    r"""Winnow with two weight vectors, for targets that are not monotone and features of any sign.

    The score is $\langle u - v, x \rangle$ with $u, v > 0$, both starting at 1. On a mistake

    $$u_j \leftarrow u_j\, \beta^{y x_j}, \qquad v_j \leftarrow v_j\, \beta^{-y x_j}.$$

    Giving every feature a mirrored twin is the lecture's "flip non-monotone attributes". The threshold is 0, and the
    constant feature plays the part of $\theta$. Exponents are bounded so that weights stay finite.

    Parameters
    ----------
    beta
        Factor $\beta > 1$ of a promotion. Closer to 1 learns more slowly and more finely.
    intercept, hash_bits
        As for `Perceptron`.

    References
    ----------
    [^1]: N. Littlestone, "Mistake bounds and logarithmic linear-threshold learning algorithms", 1989.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_maxloss.linear import BalancedWinnow, Scaler
    >>> model = Scaler() | BalancedWinnow()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 85.68%

    """

    def __init__(
        self,
        beta: float = 1.1,
        intercept: bool = True,
        hash_bits: int | None = None,
    ) -> None:
        if not (isinstance(beta, Real) and 1.0 < beta < math.inf):
            raise ValueError(f"beta must be greater than 1, got {beta!r}; 1.1 is a good start")
        self.beta = beta
        self._with_intercept = intercept
        self.hash_bits = hash_bits
        self._model = LinearModel(PROGRAM, (beta,), intercept=intercept, hash_bits=hash_bits, initial=(1.0, 1.0))
