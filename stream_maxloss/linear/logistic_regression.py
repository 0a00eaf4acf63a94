"""Logistic regression, for two classes or many."""

from __future__ import annotations

from stream_maxloss.arguments import require_choice, require_positive
from stream_maxloss.classes import Classes
from stream_maxloss.linear.class_learner import ClassLearner
from stream_maxloss.linear.class_model import ClassModel
from stream_maxloss.linear.softmax import softmax_program

__all__ = ["Logistic"]


class Logistic(ClassLearner):
    r"""Logistic regression: calibrated probabilities of two classes or many, by gradient steps on the log loss.

    Of two classes $p(y=1) = 1/(1 + e^{-s})$ with $s = \langle w, x \rangle + b$, of more $p(c) \propto e^{s_c}$ with
    weights for each class. With $g = -\partial \ell / \partial w$, for two classes $(y - p)\, x$, row t moves

    $$w \leftarrow (1 - \eta_t \lambda)\, w + \eta_t\, g, \qquad \eta_t = \eta \ \text{or}\ \eta/\sqrt t,$$

    or with `schedule="adaptive"`, each weight by itself (AdaGrad),

    $$G \leftarrow G + g^2, \qquad w \leftarrow w + \eta\, g / \sqrt{G}.$$

    Rare features then take steps as large as frequent ones. For two classes, with `schedule="constant"` and no constant
    feature this is River's `LogisticRegression(SGD(lr), intercept_lr=0)`, and adaptive with `AdaGrad(lr)` up to
    River's `eps`. The shrinking, where there is any, includes the constant feature.

    Under `FocusedClassifier` the loss of the game is 1 - p(y).

    Parameters
    ----------
    lr
        Step size $\eta$. Raising it learns faster and forgets faster.
    schedule
        `"adaptive"` for a step of its own for each weight, `"sqrt"` for $\eta/\sqrt t$, `"constant"`.
    l2
        Weight $\lambda$ of the penalty $\lambda |w|^2 / 2$; 0 for none, and only where steps do not adapt.
    intercept, hash_bits
        As for `Perceptron`.

    Notes
    -----
    A row costs a pass over its features for each class, and one for all of two. Memory is a weight, and with adaptive
    steps a sum of squares, for each feature and class.

    References
    ----------
    [^1]: John Duchi, Elad Hazan and Yoram Singer. Adaptive subgradient methods. JMLR 12, 2011.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_maxloss.linear import Logistic, Scaler
    >>> evaluate.progressive_val_score(datasets.Phishing(), Scaler() | Logistic(), metrics.LogLoss())
    LogLoss: 0.2...
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), Scaler() | Logistic(), metrics.Accuracy())
    Accuracy: 8...%

    """

    def __init__(
        self,
        lr: float = 0.1,
        schedule: str = "adaptive",
        l2: float = 0.0,
        intercept: bool = True,
        hash_bits: int | None = None,
    ) -> None:
        require_positive("lr", lr, "0.1 is a good start")
        require_choice("schedule", schedule, ("adaptive", "sqrt", "constant"))
        if l2 != 0.0:
            require_positive("l2", l2, "0 is for no penalty")
            if schedule == "adaptive":
                raise ValueError(f"l2 must be 0 with schedule='adaptive', got {l2!r}; 'sqrt' and 'constant' take one")
        self.lr = lr
        self.schedule = schedule
        self.l2 = l2
        self._with_intercept = intercept
        self.hash_bits = hash_bits
        self._classes = Classes()
        self._model = ClassModel(
            softmax_program(schedule == "adaptive"),
            (lr, l2, float(schedule == "sqrt")),
            intercept=intercept,
            hash_bits=hash_bits,
        )
