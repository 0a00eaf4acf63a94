"""The leveraging logistic-difference learner, as a stream."""

from __future__ import annotations

from stream_maxloss.arguments import require_positive
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.model import LinearModel

__all__ = ["LLD"]


class LLD(LinearClassifier):
    r"""Online learner of the logistic-difference loss, which is bounded: no mislabelled row can pull without end.

    The loss is $\ln(1 + e^{-z}) - \ln(1 + e^{-z-\mu}) \in (0, \mu)$ (Krause & Singer 2004, Eq. 11). A row weighs
    $q - g$, $q = 1/(1+e^z)$, $g = 1/(1+e^{z+\mu})$ (Figure 2): near the margin about as in logistic regression, far
    on the wrong side almost nothing.

    $$w \leftarrow w + \min\left(\eta, \frac{2}{\|x\|^2}\right) (q - g)\, y x.$$

    Figure 2 is a batch algorithm; this is its step on one row. The bound on the step is the paper's template condition
    for one row, so a step never raises the loss of the row it is made on. The batch algorithm is
    `stream_maxloss.leverage.LLD`.

    Parameters
    ----------
    mu
        Shift $\mu$: the loss of a hopeless row. Raising it approaches logistic regression; lowering it forgives more.
    lr
        Step size $\eta$.
    intercept
        Whether to add a constant-1 feature. The attribute `intercept` shows what was learned for it.
    averaged
        Whether to predict with the average of all iterates instead of the last one. On data that is not separable the
        average errs much less; it costs a second weight vector.
    hash_bits
        Hash features onto 2^hash_bits columns, which bounds the memory; None for a map that grows with the features.

    References
    ----------
    [^1]: N. Krause and Y. Singer, "Leveraging the margin more carefully", ICML 2004.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_maxloss.linear import LLD, Scaler
    >>> model = Scaler() | LLD()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 90.32%

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
        self._model = LinearModel(layout.LLD, (lr, mu), intercept=intercept, averaged=averaged, hash_bits=hash_bits)
