"""A third-party learner with its own state and two scores per row: a mean and the logarithm of a scale."""

from math import exp

from stream_maxloss.native import FIRST, LinearModel, NativeRegressor, Program, add, count, dot, load, vector_at


def score(m, row):
    return dot(vector_at(m, 0), row), min(max(dot(vector_at(m, 1), row), -5.0), 5.0)


def step(m, row, scores, target, weight):
    """Step along the gradient of the log-likelihood of Laplace's distribution, ln(2 b) + |y - mean| / b."""
    count(m, scores[0], target)
    rate, error, scale = weight * load(m, FIRST), target - scores[0], exp(scores[1])
    add(vector_at(m, 0), row, rate * min(max(error / scale, -1.0), 1.0))
    add(vector_at(m, 1), row, rate * min(abs(error) / scale - 1.0, 1.0))


def loss(m, scores, target):
    return 1.0 - exp(-abs(target - scores[0]) / exp(scores[1]))  # what the game sees, in [0, 1]


PROGRAM = Program("mean and scale", score, step, loss, scores=2)


class MeanAndScale(NativeRegressor):
    def __init__(self, lr=0.05):
        self.lr = lr
        self._model = LinearModel(PROGRAM, (lr,))
