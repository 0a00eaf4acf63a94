"""What the paper proves, measured: theorem 1, its corollaries, example 2 and the gap of section 3.1."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from stream_maxloss.focus import FocusedClassifier, FocusedRegressor
from stream_maxloss.linear import AbsoluteOGD, Perceptron


def separable(m, seed, width=10):
    """Rows with a margin of at least 0.1 under a unit vector."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=width)
    direction /= np.linalg.norm(direction)
    X = rng.normal(size=(8 * m, width))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X = X[abs(X @ direction) > 0.1][:m]
    return pd.DataFrame(X, columns=[f"f{j}" for j in range(width)]), X @ direction > 0


@pytest.mark.parametrize("m", [100, 1000, 5000])
def test_the_majority_of_the_snapshots_errs_on_no_row(m):
    # Corollary 1: T of the order of m log m rounds and k of the order of log m snapshots are enough.
    frame, labels = separable(m, seed=m)
    k = 2 * math.ceil(math.log(m)) + 1
    focused = FocusedClassifier(
        Perceptron(intercept=False), window=m, replays=0, output="majority", snapshots=k, seed=1
    )
    focused.learn_many(frame, labels)
    focused.replay(int(4 * m * math.log(m)))
    assert (focused.predict_many(frame).to_numpy() == labels).all()


def test_the_average_of_the_snapshots_keeps_every_error_small():
    # Corollary 2 and example 2, at eps = 0.1: absolute loss, targets in [0, 1], a ball for the weights.
    m, eps = 300, 0.1
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(m, 5)) / math.sqrt(5)
    targets = X @ np.array([0.9, 0.1, 0.5, 0.0, 0.4])
    frame = pd.DataFrame(X, columns=list("abcde"))
    learner = AbsoluteOGD(lr=1.0, low=0.0, high=1.0, radius=2.0, intercept=False)
    focused = FocusedRegressor(learner, window=m, replays=0, output="average", snapshots=200, span="window", seed=1)
    focused.learn_many(frame, targets)
    focused.replay(int(4 * m * math.log(m) / eps))
    assert np.abs(focused.predict_many(frame) - targets).max() <= eps


def rounds_to_consistency(alpha, epsilon, gamma, seed):
    """Play the gap example of section 3.1 until both kinds of rows are right."""
    m = int(2 * math.log(4 / 0.05) / epsilon)
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], size=m)
    rare = rng.uniform(size=m) < epsilon
    second = np.where(rare, -2 * alpha, 1.0)
    frame = pd.DataFrame({"a": signs * alpha, "b": signs * second})
    focused = FocusedClassifier(Perceptron(intercept=False), window=m, replays=0, gamma=gamma, seed=seed)
    focused.learn_many(frame, signs > 0)
    rounds, step = m, max(1, m // 20)
    kinds = [{"a": alpha, "b": 1.0}, {"a": alpha, "b": -2 * alpha}]
    while not all(focused.classifier._model.score(x) > 0 for x in kinds):
        focused.replay(step)
        rounds += step
    return rounds


def test_focus_closes_the_gap_that_uniform_draws_leave():
    # Lemma 3: about 1/eps + 1/alpha rounds, up to logarithms, where uniform draws need about 1/(alpha eps).
    coarse, fine = 0.004, 0.0005
    mean = {
        (gamma, size): np.mean([rounds_to_consistency(size, size, gamma, seed) for seed in range(3)])
        for gamma in (0.5, 1.0)
        for size in (coarse, fine)
    }
    # From coarse to fine the sum grows 8-fold (14-fold with its logarithm), the product 64-fold.
    assert mean[0.5, fine] / mean[0.5, coarse] < 24
    assert mean[1.0, fine] / mean[1.0, coarse] > 36
    assert mean[1.0, fine] > 5 * mean[0.5, fine]
