"""Margin pursuit."""

from __future__ import annotations

import math
from dataclasses import replace

from stream_maxloss.arguments import require_choice, require_count, require_open_unit, require_positive
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.additive import Rule, Settings
from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.model import linear_model
from stream_maxloss.machine.compiled import compiled, inner
from stream_maxloss.machine.pointers import load, load_integer, store

__all__ = ["MarginPursuit"]


ROOT_TWO = math.sqrt(2.0)
CATONI_CAP = 2.0 * ROOT_TWO / 3.0
# Codes of the steps; the first two are in older checkpoints.
INVERSE, SQRT, PRINTED = 0.0, 1.0, 2.0
STEPS = {"inverse": INVERSE, "sqrt": SQRT, "printed": PRINTED}


@compiled
def catoni_psi(deviation: float) -> float:
    """Return psi(u) = u - u^3/6 inside |u| <= sqrt 2 and +-2 sqrt 2/3 outside (Holland 2019, Eq. 2)."""
    if deviation > ROOT_TWO:
        return CATONI_CAP
    if deviation < -ROOT_TWO:
        return -CATONI_CAP
    return deviation - deviation * deviation * deviation / 6.0


def plan(
    settings: Settings, steps: float, score: float, target: float, weight: float, norm: float
) -> tuple[float, float]:
    """Step along -grad of s^2 rho((gamma - z)/s) + l2 |w|^2/2 (Holland 2019, Algorithm 1, section 4)."""
    gamma, l2, form, _, scale = settings
    if form == SQRT:
        alpha = 1.0 / (scale * math.sqrt(l2 * (1.0 + steps)))
    elif form == PRINTED:
        alpha = 1.0 / (scale * math.sqrt(l2) * (1.0 + steps))
    else:
        alpha = 1.0 / (scale * l2 * steps)
    # A first step longer than 1/l2 would turn w round instead of shrinking it.
    alpha = min(alpha, 1.0 / l2)
    return 1.0 - alpha * l2, alpha * weight * scale * catoni_psi((gamma - target * score) / scale) * target


def loss(settings: Settings, score: float, target: float) -> float:
    """Return the hinge loss at the level gamma, clipped."""
    return min(1.0, max(0.0, 1.0 - target * score / settings[0]))


@inner
def smallest(values: int, count: int, rank: int) -> float:
    """Return the value of a rank, counted from 0, among numbers that are not negative.

    Such numbers are in the order of their bits as whole numbers, among which a bisection finds it: to sort them would
    take a second to compile.
    """
    low, high = 0, 0x7FF0000000000000
    while low < high:
        # Not half of their sum, which would be more than a whole number of 64 bits can hold.
        middle = low + (high - low) // 2
        below = 0
        for k in range(count):
            below += load_integer(values, k) <= middle
        if below > rank:
            high = middle
        else:
            low = middle + 1
    for k in range(count):
        if load_integer(values, k) == low:
            return load(values, k)
    return 0.0


def adapt(settings: Settings, arrivals: float, score: float, target: float, own: int, rows: int) -> float:
    """Collect |z| through the warm-up, then set the scale once (Holland 2019, section 4).

    s = sqrt(n v / (2 l2 ln(1/delta))), v the 75th percentile of |y <w, x_i>| over the n rows of the warm-up.
    """
    _, l2, _, delta, scale = settings
    place = int(arrivals) - 1
    if place < rows:
        store(own, place, abs(score))
    if place != rows - 1:
        return scale
    spread = smallest(own, rows, min(rows - 1, (3 * rows) // 4))
    return max(1.0, math.sqrt(rows * spread / (2.0 * l2 * math.log(1.0 / delta))))


RULE = Rule("margin pursuit", plan, loss, code=3)
WARMING_UP = replace(RULE, adapt=adapt)


class MarginPursuit(LinearClassifier):
    r"""Margin pursuit: a learner that pulls every margin towards one level, and no outlier pulls hard.

    The loss is $s^2 \rho((\gamma - z)/s) + \frac{\lambda}{2}\|w\|^2$ with Catoni's $\rho$, so margins above the level
    $\gamma$ cost too, and a row's pull is bounded by $s \psi \le 2\sqrt2 s/3$ (Holland 2019, Eq. 2-4, Algorithm 1). On
    row t, with step $\alpha_t$,

    $$w \leftarrow (1 - \alpha_t \lambda) w + \alpha_t\, s\, \psi\!\left(\frac{\gamma - z}{s}\right) y x,
    \qquad \|w\| \le 1/\sqrt\lambda.$$

    The paper's step is printed with a root of which it is open how far it reaches: $\alpha_t = 1/(s \sqrt{\lambda
    (1+t)})$ (`step="sqrt"`) or $1/(s \sqrt\lambda (1+t))$ (`step="printed"`). `step="inverse"` is Pegasos' step divided
    by the scale, $1/(s \lambda t)$, and our default: on standardised columns, where rows are long, it errs less at
    scale 1. We cap both at $1/\lambda$, where a step would turn the weights round.

    With `scale="data"` the scale starts at 1 and is set once, after `warmup` rows, to $s = \sqrt{n v / (2 \lambda
    \ln(1/\delta))}$, $v$ being the 75th percentile of $|z|$ over these n rows (section 4), and never below 1. Rows that
    a game replays do not count among them. It pays with `step="sqrt"` and a $\lambda$ that is too small for scale 1.

    Parameters
    ----------
    gamma
        The margin level that is pursued. Raising it penalises fewer rows that are already right.
    scale
        Scale $s$: small ones heed the median, large ones the mean of the margins. A number, or `"data"`.
    l2
        Regularisation $\lambda$.
    step
        `"sqrt"`, `"printed"` or `"inverse"`, see above.
    warmup
        Rows before the scale is set from the data. Raising it raises the scale, so that later steps are shorter.
    delta
        Confidence parameter $\delta$ of the data-driven scale.
    intercept, averaged, hash_bits
        As for `Perceptron`.

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
        require_choice("step", step, ("sqrt", "inverse", "printed"))
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
        self._model = linear_model(
            WARMING_UP if isinstance(scale, str) else RULE,
            (gamma, l2, STEPS[step], delta),
            intercept=intercept,
            averaged=averaged,
            radius=1.0 / math.sqrt(l2),
            hash_bits=hash_bits,
            adapted=1.0 if isinstance(scale, str) else scale,
            own=warmup if isinstance(scale, str) else 0,
        )

    @property
    def current_scale(self) -> float:
        """The scale in force: as given, or as set from the data once the warm-up is over."""
        return float(self._model.memory[layout.ADAPTED])
