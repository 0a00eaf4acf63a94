"""Winnow."""

from __future__ import annotations

import math
from numbers import Real

from river import base

from stream_maxloss.arguments import require_positive
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.model import LinearModel

__all__ = ["Winnow"]


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
    intercept
        Whether to add a constant-1 feature. The attribute `intercept` shows what was learned for it.
    hash_bits
        Hash features onto 2^hash_bits columns, which bounds the memory; None for a map that grows with the features.
        Features that share a column add up, so values above 1 cannot be told and are taken.

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
            layout.WINNOW, (beta, theta or 0.0, high), intercept=intercept, hash_bits=hash_bits, initial=1.0
        )

    def _more_tags(self) -> set[str]:
        return {base.tags.POSITIVE_INPUT}
