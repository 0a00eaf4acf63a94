"""The theorems that the learners stand for, measured."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.linear import LLD, Perceptron, Winnow
from stream_maxloss.linear import memory as layout
from stream_maxloss.losses import LogisticDifference

SEEDS = st.integers(0, 1 << 32)


def frame(X: np.ndarray) -> pa.Table:
    return pa.table({f"f{j}": X[:, j] for j in range(X.shape[1])})


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, width=st.integers(1, 8), margin=st.floats(0.02, 0.5))
def test_perceptron_errs_at_most_the_squared_radius_over_margin_on_separable_rows(
    seed: int, width: int, margin: float
) -> None:
    generator = np.random.default_rng(seed)
    target = generator.normal(size=width)
    target /= np.linalg.norm(target)
    X = generator.normal(size=(400, width))
    X = X[np.abs(X @ target) >= margin]
    y = X @ target > 0.0
    # Kesselheim, Theorem 25.1: B = min |w| over the w with y <w, x> >= 1 everywhere, and target / margin is such a w.
    bound = (np.linalg.norm(X, axis=1).max(initial=0.0) / margin) ** 2
    model = Perceptron(intercept=False)
    for _ in range(3):  # the bound is on all passes together
        model.learn_many(frame(X), y)
    assert model.n_mistakes <= bound
    # The theorem counts updates, which a score of exactly 0 makes too.
    assert model._model.memory[layout.UPDATES] <= bound


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, noise=st.floats(0.0, 0.4), margin=st.floats(0.05, 0.6))
def test_perceptron_pays_for_rows_that_miss_the_margin_by_their_distance(
    seed: int, noise: float, margin: float
) -> None:
    generator = np.random.default_rng(seed)
    target = generator.normal(size=5)
    target /= np.linalg.norm(target)
    X = generator.normal(size=(500, 5))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(X @ target > 0.0, 1, -1) * np.where(generator.random(500) < noise, -1, 1)
    # Online Algorithms, "Perceptron - Performance": TD is the total distance by which rows of norm 1 miss the margin.
    total_distance = np.maximum(0.0, margin - y * (X @ target)).sum()
    model = Perceptron(intercept=False)
    model.learn_many(frame(X), y)
    assert model.n_mistakes <= 1.0 / margin**2 + 2.0 / margin * total_distance


def test_winnow_walks_through_the_lecture_example_weight_by_weight() -> None:
    model = Winnow(beta=2.0, theta=2.0)
    # The weights before the first row: every feature starts at 1.
    steps = [
        ((0, 0, 1, 1), False, (1.0, 1.0, 0.5, 0.5)),
        ((1, 0, 1, 0), True, (2.0, 1.0, 1.0, 0.5)),
        ((0, 1, 0, 1), True, (2.0, 2.0, 1.0, 1.0)),
    ]
    for bits, label, weights in steps:
        model.learn_one({f"x{j}": bit for j, bit in enumerate(bits, 1)}, label)
        assert tuple(model.weights.values()) == pytest.approx(weights, rel=1e-12)
    assert model.n_mistakes == 3
    # The target x1 or x2 is learned: the fourth weights predict every row rightly.
    for bits in np.ndindex(2, 2, 2, 2):
        if any(bits[:2]) or sum(bits[2:]) < 2:
            assert model.predict_one({f"x{j}": bit for j, bit in enumerate(bits, 1)}) is any(bits[:2])


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, width=st.integers(1, 12), beta=st.floats(1.05, 4.0), theta=st.floats(1.0, 30.0))
def test_winnow_demotes_no_more_than_its_start_and_its_promotions_pay_for(
    seed: int, width: int, beta: float, theta: float
) -> None:
    # Online Algorithms, "Winnow - Analysis", Lemmas 1 and 2: they hold for any labels.
    generator = np.random.default_rng(seed)
    model = Winnow(beta=beta, theta=theta)
    promotions = demotions = 0
    for bits, label in zip(generator.integers(0, 2, (150, width)), generator.random(150) < 0.6, strict=True):
        row = {f"x{j}": float(bit) for j, bit in enumerate(bits)}
        if model.predict_one(row) != label:
            promotions, demotions = promotions + label, demotions + (not label)
        model.learn_one(row, bool(label))
        assert max(model.weights.values()) <= beta * theta * (1.0 + 1e-9)
    assert demotions <= beta / (beta - 1.0) * width / theta + beta * promotions + 1e-9


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, width=st.integers(1, 8), theta=st.floats(1.0, 20.0))
def test_winnow_keeps_its_mistake_bound_on_monotone_halfspaces(seed: int, width: int, theta: float) -> None:
    generator = np.random.default_rng(seed)
    target = generator.random(width) + 0.05
    X = generator.integers(0, 2, (120, width)).astype(float)
    sums = np.sort(np.unique(np.append(X @ target, 0.0)))
    # Cut at the widest gap, and scale the target: positives have <w*, x> >= 1, negatives <= 1 - margin.
    place = int(np.argmax(np.diff(sums))) + 1 if len(sums) > 1 else 0
    target = target / sums[place] if sums[place] else target
    margin = 1.0 - sums[place - 1] / sums[place] if place else 1.0
    y = X @ target >= 1.0 - 1e-9
    beta = 1.0 + margin / 2.0
    model = Winnow(beta=beta, theta=theta)
    for _ in range(30):
        model.learn_many(frame(X), y)
    # Lemma 3 with Lemma 2: promotions - (1 - margin) demotions <= sum(w*) log_beta(beta theta). Put Lemma 1 in for the
    # demotions, and solve for the promotions; 1 - beta (1 - margin) = margin/2 + margin^2/2 is positive.
    start = beta / (beta - 1.0) * width / theta
    most = (target.sum() * math.log(beta * theta) / math.log(beta) + (1.0 - margin) * start) / (
        margin / 2.0 + margin**2 / 2.0
    )
    assert model.n_mistakes <= most + start + beta * most + 1e-6


def disjunction(width: int, rows: int, seed: int) -> tuple[pa.Table, np.ndarray]:
    """Return sparse rows of four features of many, half of them with one of three more; those are the positives."""
    generator = np.random.default_rng(seed)
    block = (width - 3) // 4
    keys = 3 + block * np.arange(4) + generator.integers(0, block, (rows, 4))
    keys = np.hstack([generator.integers(0, 3, (rows, 1)), keys])
    labels = generator.random(rows) < 0.5
    kept = np.ones(keys.shape, dtype=bool)
    kept[:, 0] = labels
    offsets = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    ones = pa.array(np.ones(offsets[-1]))
    column = pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(keys[kept], pa.int32()), ones)
    return pa.table({"x": column}), labels


def mistakes(width: int) -> tuple[int, int]:
    # Each feature comes about eight times. Without an intercept every negative row needs features of negative weight,
    # so the shortest separator has |w|^2 of the order of d: the Perceptron's bound (RB)^2 grows with d.
    table, labels = disjunction(width, 2 * width, seed=width)
    winnow, perceptron = Winnow(theta=float(width)), Perceptron(intercept=False)
    winnow.learn_many(table, labels)
    perceptron.learn_many(table, labels)
    return winnow.n_mistakes, perceptron.n_mistakes


def test_winnow_errs_with_the_logarithm_of_the_width_and_the_perceptron_with_the_width() -> None:
    table = {width: mistakes(width) for width in (100, 1_000, 10_000, 100_000)}
    for width, (winnow, _) in table.items():
        # With k = 3, theta = d and beta = 2: no weight passes 2 theta, so each relevant one is promoted at most
        # log2 d + 1 times, which bounds the promotions u (a negative row has no relevant feature to demote); demotions
        # v <= 2 d / theta + 2 u (Online Algorithms, "Winnow - Analysis", Lemmas 1 and 2). Mistakes are u + v.
        promotions = 3.0 * (math.log2(width) + 1.0)
        assert winnow <= 2.0 + 3.0 * promotions, table
    # log d grows 2.5-fold from 10^2 to 10^5, d a thousandfold. A factor of 1.6 either way leaves room for the 1s beside
    # the logarithms (3 (log2 d + 1) grows 2.3-fold) and for chance: the Perceptron's counts are sums of thousands of
    # nearly independent rows, and deviate by a few per cent.
    winnow_growth = table[100_000][0] / table[100][0]
    assert 2.5 / 1.6 < winnow_growth < 2.5 * 1.6, table
    # From 10^3 on: at 10^2 the dozen mistakes on the three relevant features are a third of all.
    exponent = math.log10(table[100_000][1] / table[1_000][1]) / 2.0
    assert 0.9 < exponent < 1.1, table


@settings(max_examples=200, deadline=None)
@given(
    x=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5),
    start=st.lists(st.floats(-1e2, 1e2), min_size=5, max_size=5),
    label=st.booleans(),
    mu=st.floats(0.01, 20.0),
    lr=st.floats(1e-3, 1e4),
    w=st.floats(1e-2, 1e3),
)
def test_one_step_of_lld_never_raises_the_loss_of_its_row(
    x: list[float], start: list[float], label: bool, mu: float, lr: float, w: float
) -> None:
    model = LLD(mu=mu, lr=lr)
    row = {f"f{j}": value for j, value in enumerate(x)}
    model.learn_one(dict.fromkeys(row, 0.0), True)
    layout.vector_v(model._model.memory)[: len(x)] = start[: len(x)]
    loss = LogisticDifference(mu)
    before = loss(label, model._model.score(row))
    model.learn_one(row, label, w=w)
    after = loss(label, model._model.score(row))
    # 1e-9: the rounding of a score of up to 5e5.
    assert after <= before + 1e-9 * max(1.0, mu)
