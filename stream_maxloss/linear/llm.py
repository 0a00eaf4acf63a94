"""The leveraging logistic-mixture learner, as a stream."""

from __future__ import annotations

import math
from dataclasses import replace

from stream_maxloss.arguments import require_open_unit, require_positive
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.additive import Rule, Settings
from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.logistic import credible_loss, logistic, plan_difference
from stream_maxloss.linear.model import linear_model
from stream_maxloss.machine.compiled import inner

__all__ = ["LLM"]


# Epsilon must stay inside (0, 1/2): at 0 no row can be noise, at 1/2 all labels are.
EPSILON_FLOOR = 1e-6
EPSILON_CEILING = 0.49


@inner
def shift_of(epsilon: float) -> float:
    """Return the mu = ln((1 - eps)/eps) at which LLD weighs rows as LLM does: g_i is then LLM's alpha_i."""
    return math.log((1.0 - epsilon) / epsilon)


def plan(
    settings: Settings, steps: float, score: float, target: float, weight: float, norm: float
) -> tuple[float, float]:
    """Step along the logistic difference at the shift of epsilon."""
    return 1.0, plan_difference(settings[0], shift_of(settings[4]), target * score, weight, norm) * target


def loss(settings: Settings, score: float, target: float) -> float:
    """Return the logistic difference, divided by its bound, as far as the label can be believed."""
    return credible_loss(shift_of(settings[4]), target * score)


def adapt(settings: Settings, arrivals: float, score: float, target: float, own: int, rows: int) -> float:
    """Move epsilon to the running mean of alpha_i, the probability that label i is noise."""
    epsilon = settings[4]
    alpha = logistic(score * target + shift_of(epsilon))
    return min(max(epsilon + (alpha - epsilon) / (arrivals + 1.0), EPSILON_FLOOR), EPSILON_CEILING)


RULE = Rule("llm", plan, loss, needs_norm=True, code=5)
ADAPTING = replace(RULE, adapt=adapt)


class LLM(LinearClassifier):
    r"""Online learner of a logistic model whose labels are flipped with probability epsilon.

    Each row is weighed by how likely its label is noise, $a = \epsilon / ((1-\epsilon) e^z + \epsilon)$ (Krause &
    Singer 2004, Figure 1), and the step is the gradient of the mixture's likelihood, with $q = 1/(1+e^z)$:

    $$w \leftarrow w + \frac{\eta}{1 + \eta \|x\|^2/4} \left((1-a) q - a (1-q)\right) y x.$$

    With `update_epsilon` the noise rate is re-estimated as the running mean of $a$: the paper's $\epsilon \leftarrow
    \frac1m \sum_i a_i$, as a stream. With it off, this is `LLD` with $\mu = \ln((1-\epsilon)/\epsilon)$, step for step
    (section 4): see there for the length of the step. Rows that a game replays teach the weights, not $\epsilon$: hard
    rows look like noise, and would raise it. The batch algorithm is `stream_maxloss.leverage.LLM`.

    Parameters
    ----------
    epsilon
        Share $\epsilon$ of labels that are thought to be wrong, the first guess if it is updated.
    update_epsilon
        Whether to estimate $\epsilon$ from the stream.
    lr
        Step size $\eta$.
    intercept, averaged, hash_bits
        As for `Perceptron`.

    References
    ----------
    [^1]: N. Krause and Y. Singer, "Leveraging the margin more carefully", ICML 2004.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_maxloss.linear import LLM, Scaler
    >>> model = Scaler() | LLM()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 90.32%

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
        self._model = linear_model(
            ADAPTING if update_epsilon else RULE,
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
