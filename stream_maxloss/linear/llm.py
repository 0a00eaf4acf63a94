"""The leveraging logistic-mixture learner, as a stream."""

from __future__ import annotations

from stream_maxloss.arguments import require_open_unit, require_positive
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.model import LinearModel

__all__ = ["LLM"]


class LLM(LinearClassifier):
    r"""Online learner of a logistic model whose labels are flipped with probability epsilon.

    Each row is weighed by how likely its label is noise, $a = \epsilon / ((1-\epsilon) e^z + \epsilon)$ (Krause &
    Singer 2004, Figure 1), and the step is the gradient of the mixture's likelihood, with $q = 1/(1+e^z)$:

    $$w \leftarrow w + \min\left(\eta, \frac{2}{\|x\|^2}\right) \left((1-a) q - a (1-q)\right) y x.$$

    With `update_epsilon` the noise rate is re-estimated as the running mean of $a$: the paper's
    $\epsilon \leftarrow \frac1m \sum_i a_i$, as a stream. With it off, this is `LLD` with
    $\mu = \ln((1-\epsilon)/\epsilon)$, step for step (section 4). The batch algorithm is `stream_maxloss.leverage.LLM`.

    Parameters
    ----------
    epsilon
        Share $\epsilon$ of labels that are thought to be wrong, the first guess if it is updated.
    update_epsilon
        Whether to estimate $\epsilon$ from the stream.
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
    >>> from stream_maxloss.linear import LLM, Scaler
    >>> model = Scaler() | LLM()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 90.40%

    """

    def __init__(
        self,
        epsilon: float = 0.05,
        update_epsilon: bool = False,
        lr: float = 0.1,
        intercept: bool = True,
        averaged: bool = False,
        hash_bits: int | None = None,
    ) -> None:
        require_open_unit("epsilon", epsilon, 0.5, "at 1/2 labels say nothing")
        require_positive("lr", lr, "0.1 is a good start")
        self.epsilon = epsilon
        self.update_epsilon = update_epsilon
        self.lr = lr
        self._with_intercept = intercept
        self.averaged = averaged
        self.hash_bits = hash_bits
        self._model = LinearModel(
            layout.LLM,
            (lr, float(update_epsilon)),
            intercept=intercept,
            averaged=averaged,
            hash_bits=hash_bits,
            adapted=epsilon,
        )

    @property
    def estimated_epsilon(self) -> float:
        """The noise rate in force: as given, or as estimated so far."""
        return float(self._model.memory[layout.ADAPTED])
