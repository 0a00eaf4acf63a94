"""Online gradient descent on the absolute loss."""

from __future__ import annotations

import math

from stream_maxloss.arguments import require_choice, require_positive
from stream_maxloss.linear.additive import Rule, Settings
from stream_maxloss.linear.model import linear_model
from stream_maxloss.linear.regressor import LinearRegressor

__all__ = ["AbsoluteOGD"]


def plan(
    settings: Settings, steps: float, score: float, target: float, weight: float, norm: float
) -> tuple[float, float]:
    """Step along the subgradient of |s - y|: the sign of the error."""
    rate, _, _, decays, _ = settings
    direction = 0.0 if score == target else (1.0 if score < target else -1.0)
    return 1.0, (rate / math.sqrt(steps) if decays != 0.0 else rate) * weight * direction


def loss(settings: Settings, score: float, target: float) -> float:
    """Return the error of the clipped prediction as a share of the range, or clipped where there is none."""
    _, low, high, _, _ = settings
    if high - low < math.inf:
        return min(1.0, abs(min(max(score, low), high) - target) / (high - low))
    return min(1.0, abs(score - target))


RULE = Rule("absolute", plan, loss, code=6)


class AbsoluteOGD(LinearRegressor):
    r"""Linear regression under the absolute loss, by online gradient descent.

    The prediction is $h_w(x) = \langle w, x \rangle + b$ clipped to [low, high]; the step follows the surrogate
    $|\langle w, x \rangle - y|$ (Shalev-Shwartz & Wexler 2016, Example 2):

    $$w \leftarrow \Pi_{\|w\| \le r}\left(w + \eta_t\, \mathrm{sign}(y - \langle w, x \rangle)\, x\right),
    \qquad \eta_t = \eta / \sqrt t.$$

    Parameters
    ----------
    lr
        Step size $\eta$.
    low
        Smallest prediction.
    high
        Largest prediction. With both finite, the game's loss is the error divided by `high - low`.
    radius, schedule
        As for `HingeOGD`.
    intercept, averaged, hash_bits
        As for `Perceptron`.

    References
    ----------
    [^1]: S. Shalev-Shwartz and Y. Wexler, "Minimizing the maximal loss: how and why?", ICML 2016.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_maxloss.linear import AbsoluteOGD, Scaler
    >>> model = Scaler() | AbsoluteOGD(lr=1.0)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 1.373028

    """

    def __init__(
        self,
        lr: float = 0.1,
        low: float = -math.inf,
        high: float = math.inf,
        radius: float | None = None,
        schedule: str = "sqrt",
        intercept: bool = True,
        averaged: bool = False,
        hash_bits: int | None = None,
    ) -> None:
        require_positive("lr", lr, "0.1 is a good start")
        if not low < high:
            raise ValueError(f"low must be below high, got {low!r} and {high!r}; swap them")
        if radius is not None:
            require_positive("radius", radius, "use None for no ball")
        require_choice("schedule", schedule, ("sqrt", "constant"))
        self.lr = lr
        self.low = low
        self.high = high
        self.radius = radius
        self.schedule = schedule
        self._with_intercept = intercept
        self.averaged = averaged
        self.hash_bits = hash_bits
        self._model = linear_model(
            RULE,
            (lr, low, high, float(schedule == "sqrt")),
            intercept=intercept,
            averaged=averaged,
            radius=radius or 0.0,
            hash_bits=hash_bits,
        )
