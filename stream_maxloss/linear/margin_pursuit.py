"""Margin pursuit."""

from __future__ import annotations

import math

from stream_maxloss.arguments import require_choice, require_count, require_open_unit, require_positive
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.model import LinearModel

__all__ = ["MarginPursuit"]


class MarginPursuit(LinearClassifier):
    r"""Margin pursuit: a learner that pulls every margin towards one level, and no outlier pulls hard.

    The loss is $s^2 \rho((\gamma - z)/s) + \frac{\lambda}{2}\|w\|^2$ with Catoni's $\rho$, so margins above the level
    $\gamma$ cost too, and a row's pull is bounded by $s \psi \le 2\sqrt2 s/3$ (Holland 2019, Eq. 2-4, Algorithm 1). On
    row t, with step $\alpha_t$,

    $$w \leftarrow (1 - \alpha_t \lambda) w + \alpha_t\, s\, \psi\!\left(\frac{\gamma - z}{s}\right) y x,
    \qquad \|w\| \le 1/\sqrt\lambda.$$

    The paper's step reads $\alpha_t = 1/(s \sqrt{\lambda (1+t)})$ (`step="sqrt"`); its print leaves open how far the
    root reaches. `step="inverse"` is Pegasos' step divided by the scale, $1/(s \lambda t)$, and our default: on
    standardised columns, where rows are long, it errs less at scale 1. We cap both at $1/\lambda$, where a step
    would turn the weights round.

    With `scale="data"` the scale starts at 1 and is set once, after `warmup` rows, to
    $s = \sqrt{n v / (2 \lambda \ln(1/\delta))}$, $v$ being the 75th percentile of $|z|$ over these n rows (section 4),
    and never below 1. It pays with `step="sqrt"` and a $\lambda$ that is too small for scale 1.

    Parameters
    ----------
    gamma
        The margin level that is pursued. Raising it penalises fewer rows that are already right.
    scale
        Scale $s$: small ones heed the median, large ones the mean of the margins. A number, or `"data"`.
    l2
        Regularisation $\lambda$.
    step
        `"sqrt"` or `"inverse"`, see above.
    warmup
        Rows before the scale is set from the data. Raising it raises the scale, so that later steps are shorter.
    delta
        Confidence parameter $\delta$ of the data-driven scale.
    intercept
        Whether to add a constant-1 feature. The attribute `intercept` shows what was learned for it.
    averaged
        Whether to predict with the average of all iterates instead of the last one. On data that is not separable the
        average errs much less; it costs a second weight vector.
    hash_bits
        Hash features onto 2^hash_bits columns, which bounds the memory; None for a map that grows with the features.

    References
    ----------
    [^1]: M. Holland, "Classification using margin pursuit", 2019.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_maxloss.linear import MarginPursuit, Scaler
    >>> model = Scaler() | MarginPursuit()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 87.76%

    """

    def __init__(
        self,
        gamma: float = 1.0,
        scale: float | str = 1.0,
        l2: float = 0.1,
        step: str = "inverse",
        warmup: int = 500,
        delta: float = 0.05,
        intercept: bool = True,
        averaged: bool = False,
        hash_bits: int | None = None,
    ) -> None:
        require_positive("gamma", gamma, "1 is the level of a support vector machine")
        if not isinstance(scale, str):
            require_positive("scale", scale, "use 'data' to have it set from the data")
        elif scale != "data":
            raise ValueError(f"scale must be a positive number or 'data', got {scale!r}; 1 is a good start")
        require_positive("l2", l2, "0.1 is a good start")
        require_choice("step", step, ("sqrt", "inverse"))
        require_count("warmup", warmup, "500 is a good start")
        require_open_unit("delta", delta, remedy="0.05 is a good start")
        self.gamma = gamma
        self.scale = scale
        self.l2 = l2
        self.step = step
        self.warmup = warmup
        self.delta = delta
        self._with_intercept = intercept
        self.averaged = averaged
        self.hash_bits = hash_bits
        self._model = LinearModel(
            layout.MARGIN_PURSUIT,
            (gamma, l2, float(step == "sqrt"), delta),
            intercept=intercept,
            averaged=averaged,
            radius=1.0 / math.sqrt(l2),
            hash_bits=hash_bits,
            adapted=1.0 if isinstance(scale, str) else scale,
            warmup=warmup if isinstance(scale, str) else 0,
        )

    @property
    def current_scale(self) -> float:
        """The scale in force: as given, or as set from the data once the warm-up is over."""
        return float(self._model.memory[layout.ADAPTED])
