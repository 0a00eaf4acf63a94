"""Online gradient descent on the hinge loss."""

from __future__ import annotations

from stream_maxloss.arguments import require_choice, require_positive
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.model import LinearModel

__all__ = ["HingeOGD"]


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
    intercept
        Whether to add a constant-1 feature. The attribute `intercept` shows what was learned for it.
    averaged
        Whether to predict with the average of all iterates instead of the last one. On data that is not separable the
        average errs much less; it costs a second weight vector.
    hash_bits
        Hash features onto 2^hash_bits columns, which bounds the memory; None for a map that grows with the features.

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
        self._model = LinearModel(
            layout.HINGE,
            (lr, margin, 0.0, float(schedule == "sqrt")),
            intercept=intercept,
            averaged=averaged,
            radius=radius or 0.0,
            hash_bits=hash_bits,
        )
