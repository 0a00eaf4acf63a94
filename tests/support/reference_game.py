"""The game played row by row through the learners' public methods, and rows to play it on."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from stream_maxloss.focus.game import Game, replay_entry_point
from stream_maxloss.focus.policy import Exponential
from stream_maxloss.linear import (
    LLD,
    LLM,
    BalancedWinnow,
    HingeOGD,
    MarginPursuit,
    Pegasos,
    Perceptron,
    Winnow,
)

SETTINGS = {"window": 40, "replays": 4, "seed": 7, "policy": "exponential"}
LEARNERS = {
    "perceptron": Perceptron(),
    "hinge": HingeOGD(),
    "hinge-ball": HingeOGD(radius=2.0, margin=0.5),
    "pegasos": Pegasos(),
    "margin-pursuit": MarginPursuit(gamma=0.5),
    "lld": LLD(),
    "llm": LLM(),
    "winnow": Winnow(),
    "balanced-winnow": BalancedWinnow(),
}


def numbers(rows=150, width=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, width))
    y = X @ np.linspace(-1, 1, width) + 0.1 * rng.normal(size=rows) > 0
    return pd.DataFrame(X, columns=[f"f{j}" for j in range(width)]), pd.Series(y)


def as_dicts(frame):
    dicts = []
    for row in frame.to_dict("records"):
        dicts.append({name: value for name, value in row.items() if value is not None and value == value})
    return dicts


def own_loss(learner, score, target):
    """Return the loss in [0, 1] that each learner's docstring promises, in plain Python."""
    z = target * score
    if isinstance(learner, Perceptron | Winnow | BalancedWinnow):
        # A score of 0 says True.
        return float((score >= 0.0) != (target > 0.0))
    if isinstance(learner, LLD | LLM):
        mu = learner.mu if isinstance(learner, LLD) else math.log((1 - learner.epsilon) / learner.epsilon)
        return (np.logaddexp(0.0, -z) - np.logaddexp(0.0, -z - mu)) / mu / (1.0 + math.exp(-z - mu))
    level = {HingeOGD: "margin", MarginPursuit: "gamma"}.get(type(learner))
    return min(1.0, max(0.0, 1.0 - z / (getattr(learner, level) if level else 1.0)))


class Reference:
    """Focused learning spelled out: the game's parts in Python, the learner through `learn_one`."""

    def __init__(
        self, learner, loss=None, slack=None, admission="all", share=0.0, window=40, replays=4, seed=7, policy=None
    ):
        if policy not in (None, "exponential"):
            raise ValueError(f"the reference plays with the paper's weights, got {policy!r}")
        self.learner, self.loss = learner, loss
        self.game = Game(window, replays, 0.5, None, share, admission, slack, 0, "history", seed)
        self.rows = {}

    def learn(self, x, y, w=1.0):
        game, player = self.game, self.game.player
        self.learner.learn_one(x, y, w=w)
        slot = game.admit(y)
        if slot >= 0:
            self.rows[slot] = (dict(x), y, w)
        if not (game.size and game.replays):
            return
        slot, p = player.draw()
        for left in range(game.replays - 1, -1, -1):
            row, label, weight = self.rows[slot]
            score = self.learner._model.score(row)
            target = 1.0 if label else -1.0
            loss = self.loss(target * score) if self.loss else own_loss(self.learner, score, target)
            self.learner.learn_one(row, label, w=weight)
            if game.slack.active:
                loss -= game.slack.get(slot)
                game.slack.step(slot)
            slot, p = replay_entry_point(Exponential.raised)(game.handle, slot, p, loss, left > 0)


def assert_same_game(reference, focused):
    game, other = reference.game, focused._game
    assert game.player.generator.tolist() == other.player.generator.tolist()
    assert game.replayed.tolist() == other.replayed.tolist()
    assert game.arrived.tolist() == other.arrived.tolist()
    np.testing.assert_allclose(game.player.weights(), other.player.weights(), rtol=1e-9)
    ours = focused._wrapped_model.weights
    assert ours.keys() == reference.learner.weights.keys()
    for name, value in reference.learner.weights.items():
        assert ours[name] == pytest.approx(value, rel=1e-9, abs=1e-9)
    for slot, (x, y, w) in reference.rows.items():
        row, target, weight = focused._native.row(slot)
        features = {f"{n}={v}" if isinstance(v, str) else n: 1.0 if isinstance(v, str) else v for n, v in x.items()}
        assert row == {name: pytest.approx(value) for name, value in features.items() if value != 0.0}
        assert (target > 0, weight) == (bool(y), w)


def run_both(reference, make, frame, labels, weights=None, batch=37):
    one, many = make(), make()
    weights = np.ones(len(frame)) if weights is None else weights
    for x, y, w in zip(as_dicts(frame), labels, weights, strict=True):
        reference.learn(x, y, w=w)
        one.learn_one(x, y, w=w)
    for start in range(0, len(frame), batch):
        part = slice(start, start + batch)
        many.learn_many(frame.iloc[part], labels.iloc[part], w=weights[part])
    assert_same_game(reference, one)
    assert_same_game(reference, many)
    return one, many


def sparse_numbers(rows=150, width=300, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.1, 1.0, size=(rows, width)) * (rng.uniform(size=(rows, width)) < 0.03)
    y = X @ rng.normal(size=width) > 0
    X[X == 0] = np.nan
    return pd.DataFrame(X, columns=[f"f{j}" for j in range(width)]), pd.Series(y)
