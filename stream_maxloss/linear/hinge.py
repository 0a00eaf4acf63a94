"""Online gradient descent on the hinge loss."""

from __future__ import annotations

import math

from stream_maxloss.arguments import require_choice, require_positive
from stream_maxloss.linear.additive import Rule, Settings
from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.model import linear_model

__all__ = ["HingeOGD"]


def plan(
    settings: Settings, steps: float, score: float, target: float, weight: float, norm: float
) -> tuple[float, float]:
    """Step along -grad of the hinge loss on rows within the margin."""
    rate, margin, _, decays, _ = settings
    if target * score > margin:
        return 1.0, 0.0
    return 1.0, (rate / math.sqrt(steps) if decays != 0.0 else rate) * weight * target / margin


def loss(settings: Settings, score: float, target: float) -> float:
    """Return the hinge loss, clipped."""
    return min(1.0, max(0.0, 1.0 - target * score / settings[1]))


def limit(settings: Settings) -> float:
    """Return the margin beyond which nothing changes."""
    return settings[1]


RULE = Rule("hinge", plan, loss, limit, code=1)


class HingeOGD(LinearClassifier):
    r"""Online gradient descent on the hinge loss, with an optional ball.

    The loss is $\max(0, 1 - z/\gamma)$ with $z = y (\langle w, x \rangle + b)$ and margin $\gamma$. On row t

    $$w \leftarrow \Pi_{\|w\| \le r}\left( w + \eta_t \frac{y x}{\gamma} [z \le \gamma] \right),
    \qquad \eta_t = \eta / \sqrt t.$$

    With `schedule="constant"` and `margin=1` this is River's `LogisticRegression(loss=Hinge(), optimizer=SGD(lr),
    intercept_lr=lr)`. At the kink $z = \gamma$ the subgradient is taken, as River does.

    Parameters
    ----------
    lr
        Step size $\eta$. Raising it learns faster and forgets faster.
    margin
        Margin $\gamma$ that a row must have to cost nothing.
    radius
        Radius of the ball that the weights, intercept included, are projected to; None for no ball.
    schedule
        `"sqrt"` divides the step by $\sqrt t$ on row t, `"constant"` keeps it. A constant step follows drift.
    intercept, averaged, hash_bits
        As for `Perceptron`.

    References
    ----------
    [^1]: T. Kesselheim, "Efficient Empirical Risk Minimization", lecture notes, section 4.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_maxloss.linear import HingeOGD, Scaler
    >>> model = Scaler() | HingeOGD()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.60%

    """

    def __init__(
        self,
        lr: float = 0.1,
        margin: float = 1.0,
        radius: float | None = None,
        schedule: str = "sqrt",
        intercept: bool = True,
        averaged: bool = False,
        hash_bits: int | None = None,
    ) -> None:
        require_positive("lr", lr, "0.1 is a good start")
        require_positive("margin", margin, "1 is the usual hinge")
        if radius is not None:
            require_positive("radius", radius, "use None for no ball")
        require_choice("schedule", schedule, ("sqrt", "constant"))
        self.lr = lr
        self.margin = margin
        self.radius = radius
        self.schedule = schedule
        self._with_intercept = intercept
        self.averaged = averaged
        self.hash_bits = hash_bits
        self._model = linear_model(
            RULE,
            (lr, margin, 0.0, float(schedule == "sqrt")),
            intercept=intercept,
            averaged=averaged,
            radius=radius or 0.0,
            hash_bits=hash_bits,
        )
