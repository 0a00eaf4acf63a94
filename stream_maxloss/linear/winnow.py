"""Winnow."""

from __future__ import annotations

import math
from numbers import Real

from river import base

from stream_maxloss.arguments import require_positive
from stream_maxloss.linear.additive import count
from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.memory import FIRST, INTERCEPT, MISTAKES, SECOND, SEEN, THIRD, V_INTERCEPT
from stream_maxloss.linear.model import LinearModel
from stream_maxloss.linear.program import Program
from stream_maxloss.linear.sums import INFINITE, OUTSIDE, Row, column_of, dot_arrived, fault, vector_at
from stream_maxloss.machine.compiled import inner
from stream_maxloss.machine.pointers import load, store

__all__ = ["Winnow", "divide", "factor_of", "multiply", "zero_one_loss"]

# Weights stay finite whatever comes.
LARGEST_WEIGHT = 1e100


@inner
def factor_of(m: int, exponent: float) -> float:
    """Return beta^exponent."""
    return math.exp(min(max(exponent * math.log(load(m, FIRST)), -200.0), 200.0))


@inner
def multiply(v: int, place: int, factor: float) -> None:
    """Multiply a weight, and keep it inside what a float can come back from."""
    store(v, place, min(max(load(v, place) * factor, 1.0 / LARGEST_WEIGHT), LARGEST_WEIGHT))


@inner
def divide(v: int, place: int, factor: float) -> None:
    """Divide a weight, within the same bounds."""
    store(v, place, min(max(load(v, place) / factor, 1.0 / LARGEST_WEIGHT), LARGEST_WEIGHT))


@inner
def zero_one_loss(m: int, score: float, target: float) -> float:
    """Return the loss that the game sees: 1 for a mistake."""
    return 1.0 if (score >= 0.0) != (target > 0.0) else 0.0


@inner
def threshold(m: int) -> float:
    """Return theta: as set, or the number of features seen."""
    return load(m, SECOND) if load(m, SECOND) > 0.0 else load(m, SEEN)


@inner
def score(m: int, row: Row) -> float:
    """Return <w, x> - theta; a feature that was never learned from has no weight yet."""
    columns, x, length, stored = row
    v, seen = vector_at(m, 0), int(load(m, SEEN))
    if columns == 0:
        total = dot_arrived(v, (columns, x, min(length, seen), stored)) + load(m, V_INTERCEPT)
        return total - threshold(m)
    total = load(m, V_INTERCEPT)
    for k in range(length):
        if column_of(row, k) < seen:
            total += load(v, column_of(row, k)) * load(x, k)
    return total - threshold(m)


@inner
def prepare(m: int, row: Row) -> int:
    """Refuse a row with a value outside [0, 1]; count the columns seen, and turn absent values into zeros."""
    _, x, length, _ = row
    high, seen = load(m, THIRD), load(m, SEEN)
    for k in range(length):
        value = load(x, k)
        if not math.isnan(value):
            if not (0.0 <= value <= high and value < math.inf):
                return fault(INFINITE if math.isinf(value) else OUTSIDE, k)
            seen = max(seen, column_of(row, k) + 1.0)
    for k in range(length):
        if math.isnan(load(x, k)):
            store(x, k, 0.0)
    store(m, SEEN, seen)
    return 0


@inner
def step(m: int, row: Row, score: float, target: float, weight: float) -> None:
    """Promote or demote the weights of a mistaken row."""
    mistakes = load(m, MISTAKES)
    count(m, score, target)
    if load(m, MISTAKES) == mistakes:
        return
    v = vector_at(m, 0)
    for k in range(row[2]):
        exponent = target * weight * load(row[1], k)
        if exponent != 0.0:
            multiply(v, column_of(row, k), factor_of(m, exponent))
    if load(m, INTERCEPT) != 0.0:
        multiply(m, V_INTERCEPT, factor_of(m, target * weight))


PROGRAM = Program("winnow", score, step, zero_one_loss, prepare=prepare, code=7)


class Winnow(LinearClassifier):
    r"""Littlestone's Winnow: multiplicative updates, for the case that few of very many features matter.

    Weights start at 1 and stay positive; features must lie in [0, 1]. A row is positive iff
    $\langle w, x \rangle \ge \theta$. On a mistake

    $$w_j \leftarrow w_j\, \beta^{y x_j}$$

    (promotion or demotion). On disjunctions of k out of d variables it makes $O(k \log d)$ mistakes, where the
    Perceptron's number grows with d. With `theta=None`, $\theta$ is the number of features seen so far, the paper's
    $\theta = d$ for a d that is not known beforehand. The score is $\langle w, x \rangle - \theta$. Monotone targets
    only: for others use `BalancedWinnow`.

    Parameters
    ----------
    beta
        Factor $\beta > 1$ of a promotion; $1 + \gamma/2$ for a margin $\gamma$.
    theta
        Threshold $\theta$; None for the number of features seen. Must be given with `hash_bits`.
    intercept, hash_bits
        As for `Perceptron`. Hashed features that share a column add up, so that values above 1 cannot be refused.

    References
    ----------
    [^1]: N. Littlestone, "Learning quickly when irrelevant attributes abound", Machine Learning 2, 1988.

    Examples
    --------
    The label is true iff one of three features out of a thousand is 1.

    >>> import random
    >>> from stream_maxloss.linear import Perceptron, Winnow
    >>> winnow, perceptron, generator = Winnow(), Perceptron(), random.Random(7)
    >>> for _ in range(3000):
    ...     x = {f"f{j}": float(generator.random() < 0.2) for j in range(1000)}
    ...     y = any(x[name] for name in ("f1", "f2", "f3"))
    ...     winnow.learn_one(x, y)
    ...     perceptron.learn_one(x, y)
    >>> winnow.n_mistakes, perceptron.n_mistakes
    (54, 812)

    """

    def __init__(
        self,
        beta: float = 2.0,
        theta: float | None = None,
        intercept: bool = False,
        hash_bits: int | None = None,
    ) -> None:
        if not (isinstance(beta, Real) and 1.0 < beta < math.inf):
            raise ValueError(f"beta must be greater than 1, got {beta!r}; 2 is Littlestone's choice")
        if theta is not None:
            require_positive("theta", theta, "use None for the number of features seen")
        elif hash_bits is not None:
            raise ValueError("theta must be given with hash_bits, got None; hashed features cannot be counted")
        self.beta = beta
        self.theta = theta
        self._with_intercept = intercept
        self.hash_bits = hash_bits
        # Features that share a hashed column add up, to more than 1.
        high = 1.0 if hash_bits is None else math.inf
        self._model = LinearModel(
            PROGRAM, (beta, theta or 0.0, high), intercept=intercept, hash_bits=hash_bits, initial=(1.0, 0.0)
        )

    def _more_tags(self) -> set[str]:
        return {base.tags.POSITIVE_INPUT}
