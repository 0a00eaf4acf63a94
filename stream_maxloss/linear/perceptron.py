"""The Perceptron."""

from __future__ import annotations

from stream_maxloss.linear.additive import Rule, Settings
from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.model import linear_model

__all__ = ["Perceptron"]


def plan(
    settings: Settings, steps: float, score: float, target: float, weight: float, norm: float
) -> tuple[float, float]:
    """Add y x on a mistake."""
    return 1.0, (weight * target if target * score <= 0.0 else 0.0)


def loss(settings: Settings, score: float, target: float) -> float:
    """Return the zero-one loss."""
    return 1.0 if (score >= 0.0) != (target > 0.0) else 0.0


def limit(settings: Settings) -> float:
    """Return the margin beyond which nothing changes."""
    return 0.0


RULE = Rule("perceptron", plan, loss, limit, code=0)


class Perceptron(LinearClassifier):
    r"""The Perceptron of Rosenblatt (1957).

    On row t with margin $z = y (\langle w, x \rangle + b)$:

    $$w \leftarrow w + y x \quad \text{if } z \le 0.$$

    If the rows are separable with $R = \max \|x\|$ and $B = \min \|w\|$ over the $w$ of margin 1 everywhere, it
    updates at most $(RB)^2$ times (Kesselheim, Theorem 25.1). If not, rows of norm 1 cost at most
    $1/\gamma^2 + (2/\gamma) TD_\gamma$ mistakes, $TD_\gamma$ being the total distance by which they miss the margin
    $\gamma$. Weights are those of `river.linear_model.Perceptron` to the last digits.

    Parameters
    ----------
    intercept
        Whether to add a constant-1 feature. The attribute `intercept` shows what was learned for it.
    averaged
        Whether to predict with the average of all iterates instead of the last one. On data that is not separable the
        average errs much less; it costs a second weight vector.
    hash_bits
        Hash features onto 2^hash_bits columns, which bounds the memory; None for a map that grows with the features.

    References
    ----------
    [^1]: T. Kesselheim, "Efficient Empirical Risk Minimization", lecture notes, section 3.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_maxloss.linear import Perceptron, Scaler
    >>> model = Scaler() | Perceptron()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 85.92%

    """

    def __init__(
        self,
        intercept: bool = True,
        averaged: bool = False,
        hash_bits: int | None = None,
    ) -> None:
        self._with_intercept = intercept
        self.averaged = averaged
        self.hash_bits = hash_bits
        self._model = linear_model(RULE, intercept=intercept, averaged=averaged, hash_bits=hash_bits)
