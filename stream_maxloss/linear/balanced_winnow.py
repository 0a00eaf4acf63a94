"""Balanced Winnow."""

from __future__ import annotations

import math
from numbers import Real

from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.model import LinearModel

__all__ = ["BalancedWinnow"]


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
    intercept
        Whether to add a constant-1 feature. The attribute `intercept` shows what was learned for it.
    hash_bits
        Hash features onto 2^hash_bits columns, which bounds the memory; None for a map that grows with the features.

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
        self._model = LinearModel(
            layout.BALANCED_WINNOW, (beta,), intercept=intercept, hash_bits=hash_bits, initial=1.0
        )
