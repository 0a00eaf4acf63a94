"""A third-party linear rule: passive-aggressive learning (PA-I), which moves just far enough to reach a margin of 1."""

from stream_maxloss.native import NativeClassifier, Rule, linear_model


def plan(settings, steps, score, target, weight, norm):
    """Return (shrink, coefficient) of w <- shrink w + coefficient x: the hinge loss over |x|^2, at most C."""
    missing = max(0.0, 1.0 - target * score)
    return 1.0, target * min(settings[0] * weight, missing / norm if norm > 0.0 else 0.0)


def loss(settings, score, target):
    """Return the clipped hinge loss: what the game sees."""
    return min(1.0, max(0.0, 1.0 - target * score))


RULE = Rule("passive-aggressive", plan, loss, needs_norm=True)


class PassiveAggressive(NativeClassifier):
    """PA-I of Crammer et al. (2006)."""

    def __init__(self, C=0.1, intercept=True):
        self.C = C
        self._with_intercept = intercept
        self._model = linear_model(RULE, (C,), intercept=intercept)
