"""The leveraging logistic-difference learner, as a stream."""

from __future__ import annotations

from stream_maxloss.arguments import require_positive
from stream_maxloss.linear.additive import Rule, Settings
from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.logistic import credible_loss, plan_difference
from stream_maxloss.linear.model import linear_model

__all__ = ["LLD"]


def plan(
    settings: Settings, steps: float, score: float, target: float, weight: float, norm: float
) -> tuple[float, float]:
    """Step along the logistic difference."""
    return 1.0, plan_difference(settings[0], settings[1], target * score, weight, norm) * target


def loss(settings: Settings, score: float, target: float) -> float:
    """Return the logistic difference, divided by its bound mu, as far as the label can be believed."""
    return credible_loss(settings[1], target * score)


RULE = Rule("lld", plan, loss, needs_norm=True, code=4)


class LLD(LinearClassifier):
    r"""Online learner of the logistic-difference loss, which is bounded: no mislabelled row can pull without end.

    The loss is $\ln(1 + e^{-z}) - \ln(1 + e^{-z-\mu}) \in (0, \mu)$ (Krause & Singer 2004, Eq. 11). A row weighs
    $q - g$, $q = 1/(1+e^z)$, $g = 1/(1+e^{z+\mu})$ (Figure 2): near the margin about as in logistic regression, far
    on the wrong side almost nothing.

    $$w \leftarrow w + \frac{\eta}{1 + \eta \|x\|^2/4}\, (q - g)\, y x.$$

    Figure 2 is a batch algorithm; this is its step on one row. The paper's template condition asks for steps of at most
    $2/\|x\|^2$. Cut off there, all long rows would take the same step, whatever $\eta$. This is the implicit step
    instead (Kulis & Bartlett 2010) on the parabola of curvature 1/4 that lies above the loss: it grows with $\eta$ on
    rows of any length and stays below $4/\|x\|^2$. A sample weight multiplies it. Since the loss of a row falls with
    any step below $8/\|x\|^2$, one step never raises the loss of its row up to a weight of 2. The batch algorithm is
    `stream_maxloss.leverage.LLD`.

    A game around this learner sees the loss divided by $\mu$ and times $1 - g$, the probability that the label is true
    if labels are flipped with the rate $\epsilon$ at which $\mu = \ln((1-\epsilon)/\epsilon)$ (section 4): it would
    else press rows for which the learner no longer moves.

    Parameters
    ----------
    mu
        Shift $\mu$: the loss of a hopeless row. Raising it approaches logistic regression; lowering it forgives more.
    lr
        Step size $\eta$.
    intercept, averaged, hash_bits
        As for `Perceptron`.

    References
    ----------
    [^1]: N. Krause and Y. Singer, "Leveraging the margin more carefully", ICML 2004.
    [^2]: B. Kulis and P. Bartlett, "Implicit online learning", ICML 2010.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_maxloss.linear import LLD, Scaler
    >>> model = Scaler() | LLD()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 90.16%

    """

    def __init__(
        self,
        mu: float = 4.0,
        lr: float = 0.1,
        intercept: bool = True,
        averaged: bool = False,
        hash_bits: int | None = None,
    ) -> None:
        require_positive("mu", mu, "4 is the value of the paper's figure")
        require_positive("lr", lr, "0.1 is a good start")
        self.mu = mu
        self.lr = lr
        self._with_intercept = intercept
        self.averaged = averaged
        self.hash_bits = hash_bits
        self._model = linear_model(RULE, (lr, mu), intercept=intercept, averaged=averaged, hash_bits=hash_bits)
