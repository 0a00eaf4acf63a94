"""Each rule beside its definition in plain Python, and the arithmetic that the rules share."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stream_maxloss.linear import (
    LLD,
    AbsoluteOGD,
    BalancedWinnow,
    HingeOGD,
    MarginPursuit,
    Pegasos,
    Perceptron,
    Winnow,
)
from stream_maxloss.linear.logistic import log_loss, logistic
from stream_maxloss.linear.margin_pursuit import catoni_psi

Vector = list[float]


def dot(w: Vector, x: Vector) -> float:
    return sum(a * b for a, b in zip(w, x, strict=True))


def move(w: Vector, c: float, x: Vector) -> Vector:
    return [a + c * b for a, b in zip(w, x, strict=True)]


def project(w: Vector, radius: float) -> Vector:
    length = math.sqrt(dot(w, w))
    return [a * min(1.0, radius / length) for a in w] if length else w


def perceptron(w: Vector, x: Vector, y: float, t: int, k: float) -> Vector:
    return move(w, k * y, x) if y * dot(w, x) <= 0.0 else w


def hinge(w: Vector, x: Vector, y: float, t: int, k: float) -> Vector:
    step = 0.5 / math.sqrt(t) * k * y / 2.0
    return project(move(w, step, x) if y * dot(w, x) <= 2.0 else w, 0.7)


def pegasos(w: Vector, x: Vector, y: float, t: int, k: float) -> Vector:
    pull = k * y / (0.1 * t) if y * dot(w, x) < 1.0 else 0.0
    return project(move([(1.0 - 1.0 / t) * a for a in w], pull, x), 1.0 / math.sqrt(0.1))


def margin_pursuit(w: Vector, x: Vector, y: float, t: int, k: float) -> Vector:
    u = (1.0 - y * dot(w, x)) / 0.2
    psi = u - u**3 / 6 if abs(u) <= math.sqrt(2) else math.copysign(2 * math.sqrt(2) / 3, u)
    alpha = min(1.0 / 0.1, 1.0 / (0.2 * 0.1 * t))
    return project(move([(1.0 - alpha * 0.1) * a for a in w], alpha * k * 0.2 * psi * y, x), 1.0 / math.sqrt(0.1))


def lld(w: Vector, x: Vector, y: float, t: int, k: float) -> Vector:
    z = y * dot(w, x)
    weight = 1.0 / (1.0 + math.exp(z)) - 1.0 / (1.0 + math.exp(z + 3.0))
    return move(w, 0.5 / (1.0 + 0.125 * dot(x, x)) * k * weight * y, x)


def absolute(w: Vector, x: Vector, y: float, t: int, k: float) -> Vector:
    error = y - dot(w, x)
    return move(w, 0.5 / math.sqrt(t) * k * (error > 0) - 0.5 / math.sqrt(t) * k * (error < 0), x)


RULES: dict[str, tuple[Callable[..., Any], Callable[..., Vector]]] = {
    "Perceptron": (Perceptron, perceptron),
    "HingeOGD": (lambda **o: HingeOGD(lr=0.5, margin=2.0, radius=0.7, **o), hinge),
    "Pegasos": (lambda **o: Pegasos(l2=0.1, **o), pegasos),
    "MarginPursuit": (lambda **o: MarginPursuit(scale=0.2, l2=0.1, **o), margin_pursuit),
    "LLD": (lambda **o: LLD(mu=3.0, lr=0.5, **o), lld),
    "AbsoluteOGD": (lambda **o: AbsoluteOGD(lr=0.5, **o), absolute),
}


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_an_additive_rule_and_its_average_are_the_plain_definition(rule: str, averaged: bool) -> None:
    construct, oracle = RULES[rule]
    model, generator = construct(averaged=averaged), random.Random(4)
    w, total = [0.0] * 4, [0.0] * 4
    for t in range(1, 301):
        x = [generator.uniform(-1.0, 1.0) for _ in range(3)]
        y, k = generator.choice((-1.0, 1.0)), generator.choice((0.5, 1.0, 2.0))
        model.learn_one(dict(zip("abc", x, strict=True)), y, w=k)
        w = oracle(w, [*x, 1.0], y, t, k)
        total = move(total, 1.0, w)
        expected = [a / t for a in total] if averaged else w
        assert [*model.weights.values(), model.intercept] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("make", "balanced"), [(Winnow, False), (BalancedWinnow, True)])
def test_a_multiplicative_rule_is_the_plain_definition(make: Any, balanced: bool) -> None:
    model = make(beta=1.5, intercept=True)
    generator, u, v = random.Random(4), [1.0] * 4, [1.0] * 4
    for _ in range(300):
        x = [generator.random() for _ in range(3)] + [1.0]
        y = generator.choice((-1, 1))
        model.learn_one(dict(zip("abc", x, strict=False)), y)
        score = dot(u, x) - (dot(v, x) if balanced else 3.0)  # Winnow's theta: the features seen
        if (score >= 0.0) != (y > 0):
            u = [a * 1.5 ** (y * b) for a, b in zip(u, x, strict=True)]
            v = [a * 1.5 ** (-y * b) for a, b in zip(v, x, strict=True)]
        expected = [a - b for a, b in zip(u, v, strict=True)] if balanced else u
        assert [*model.weights.values(), model.intercept] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_an_average_keeps_its_digits_when_the_scale_is_folded_many_times() -> None:
    generator = np.random.default_rng(0)
    averaged, current = (MarginPursuit(step="sqrt", l2=1.0, averaged=flag) for flag in (True, False))
    total = np.zeros(3)
    for _ in range(4000):
        x = dict(zip("abc", generator.normal(size=3).tolist(), strict=True))
        y = x["a"] + generator.normal() > 0.0
        averaged.learn_one(x, y)
        current.learn_one(x, y)
        total += list(current.weights.values())
    assert list(averaged.weights.values()) == pytest.approx((total / 4000).tolist(), rel=1e-9, abs=1e-10)


def test_weights_stay_in_the_ball_when_the_square_of_a_row_overflows() -> None:
    for averaged in (False, True):
        model = Pegasos(averaged=averaged)
        model.learn_one({"a": 1e200}, True)
        assert model.weights["a"] == pytest.approx(10.0)
        model.learn_one({"a": 1.0}, False)
        assert math.isfinite(model.weights["a"])


def test_multiplicative_weights_stay_finite() -> None:
    model = BalancedWinnow(beta=10.0)
    for _ in range(300):
        model.learn_one({"a": 100.0}, model._model.score({"a": 100.0}) < 0.0)
    assert all(map(math.isfinite, model.weights.values()))


@pytest.mark.parametrize("z", [-800.0, -1.0, 0.0, 1.0, 800.0])
def test_the_logistic_functions_do_not_overflow(z: float) -> None:
    assert logistic(z) == pytest.approx(float(np.exp(-np.logaddexp(0.0, z))), rel=1e-12)
    assert log_loss(z) == pytest.approx(float(np.logaddexp(0.0, -z)), rel=1e-12)


def test_catonis_influence_is_flat_beyond_root_two() -> None:
    assert catoni_psi(math.sqrt(2.0)) == pytest.approx(2.0 * math.sqrt(2.0) / 3.0)
    assert catoni_psi(9.0) == -catoni_psi(-9.0) == pytest.approx(2.0 * math.sqrt(2.0) / 3.0)
    assert catoni_psi(0.6) == pytest.approx(0.6 - 0.6**3 / 6.0)
