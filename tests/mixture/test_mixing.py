"""The mixture against its bound, and the whole step against a reference in plain numpy."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from streams import frame_of, mixed_stream

from stream_maxloss.mixture import AutoClassifier
from stream_maxloss.mixture.mixing import LEAST, STACKS
from stream_maxloss.mixture.reasons import cells_at_hand

# What docs/auto.md says experts, stacks and the constant weigh at first, and what is shared.
START = np.array([0.3 / 14] * 10 + [0.06, 0.08] + [0.3 / 14] * 4 + [0.08, 0.08, 0.4])
SHARED = 0.003


def answers_of_all(model: AutoClassifier, x: list[dict[str, Any]], y: list[Any]) -> np.ndarray:
    """Return ln p(y) of every expert, stack, the mixture, its tabled form and the outcome, row by row."""
    losses = []
    for row, label in zip(x, y, strict=True):
        model._model.answer_one(row)
        memory = model._model.memory
        p = np.append(memory["answer"][:, 0], memory["out"][0])
        losses.append(np.log(np.clip(p if label else 1.0 - p, LEAST, 1.0)))
        model.learn_one(row, label)
    return np.array(losses)


def cost_of_sharing(said: np.ndarray) -> float:
    """Return what the share costs, given ln p(y) of what is mixed."""
    return float(-np.log(1.0 - SHARED * (1.0 - np.exp(said))).sum())


@pytest.fixture(scope="module")
def logs() -> np.ndarray:
    x, y = mixed_stream(1200)
    # The concept turns round in the middle, so that no single expert is best throughout.
    y = [label if i < 600 else not label for i, label in enumerate(y)]
    return answers_of_all(AutoClassifier(seed=1), x, y)


def test_the_mixture_keeps_up_with_the_best_expert_from_the_first_row_on(logs: np.ndarray) -> None:
    experts = logs.shape[1] - 5
    regret = logs[:, :experts].sum(axis=0) - logs[:, experts].sum()
    # Each answer is cut off at LEAST, which the mixture, a mean of them, can only gain from.
    assert (regret <= np.log(1.0 / START) + cost_of_sharing(logs[:, experts])).all()
    assert math.isclose(START.sum(), 1.0)


def test_what_is_shared_costs_a_part_of_the_loss_and_nothing_where_there_is_none(logs: np.ndarray) -> None:
    loss = -logs[:, logs.shape[1] - 5]
    # 1 - p <= -ln p, and -ln(1 - a) <= a / (1 - a).
    assert cost_of_sharing(-loss) <= SHARED / (1.0 - SHARED) * loss.sum()
    experts = -logs[:, : len(START)].sum(axis=0)
    assert (loss.sum() * (1.0 - SHARED / (1.0 - SHARED)) <= experts + np.log(1.0 / START)).all()


def test_the_mixture_keeps_up_with_the_best_sequence_of_experts(logs: np.ndarray) -> None:
    experts = logs.shape[1] - 5
    rows = len(logs)
    for cuts in ((0, 600, rows), (0, 300, 600, 900, rows)):
        bests = [int(logs[a:b, :experts].sum(axis=0).argmax()) for a, b in pairwise(cuts)]
        best = sum(logs[a:b, k].sum() for (a, b), k in zip(pairwise(cuts), bests, strict=True))
        bound = cost_of_sharing(logs[:, experts]) + sum(math.log(1.0 / START[k]) for k in bests)
        # The share that the next expert gets is that of the row before the switch.
        bound += sum(math.log(1.0 / (SHARED * (1.0 - math.exp(logs[cut - 1, experts])))) for cut in cuts[1:-1])
        assert best - logs[:, experts].sum() <= bound


def test_the_outcome_keeps_up_with_the_mixture_its_tabled_and_its_corrected_form(logs: np.ndarray) -> None:
    mixture, tabled, first, corrected, outcome = logs[:, -5:].sum(axis=0)
    for before, after, mixed, k in ((mixture, tabled, first, -3), (first, corrected, outcome, -1)):
        cost = cost_of_sharing(logs[:, k])
        assert before - mixed <= math.log(1.0 / 0.8) + cost
        assert after - mixed <= math.log(1.0 / 0.2) + cost


@pytest.mark.parametrize("rate", [0.002, 0.02, 0.3])
def test_where_nothing_can_be_learned_it_costs_little_more_than_the_shares_of_the_labels(rate: float) -> None:
    draw = np.random.default_rng(1)
    y = (draw.random(1500) < rate).tolist()
    model, loss, constant, came = AutoClassifier(seed=1), 0.0, 0.0, [0.5, 0.5]
    for i, label in enumerate(y):
        row = {name: float(draw.normal()) for name in "abcdef"}
        said = model.predict_proba_one(row)[label] if i else 0.5
        loss -= math.log(said)
        constant -= math.log(came[label] / sum(came))
        came[label] += 1.0
        model.learn_one(row, label)
    # The constant's own start and those of the two tables, and what is shared on each of three levels.
    allowed = math.log(1.0 / 0.4) + 2.0 * math.log(1.0 / 0.8) + 3.0 * SHARED / (1.0 - SHARED) * loss
    assert loss <= constant + allowed


def test_weights_show_what_the_stream_chose() -> None:
    x, y = mixed_stream(400)
    model = AutoClassifier(seed=1)
    even = model.weights()
    assert list(even.values()) == pytest.approx(START.tolist())
    model.learn_many(frame_of(x), y)
    weights = model.weights()
    assert sum(weights.values()) == pytest.approx(1.0)
    assert max(weights, key=lambda name: weights[name] / even[name]) != "constant"
    assert weights["constant"] < 0.1


class Reference:
    """Experts, stacks, mixture and table over features that are given, written down once more from the equations."""

    def __init__(self, adaptive: Any, constant: Any, mask: Any, weights: list[Any], squares: list[Any]) -> None:
        self.a, self.c, self.mask = adaptive, constant, mask
        self.w, self.G = weights, squares
        k = len(adaptive)
        self.start = np.append(np.full(k, 0.44 / k), [0.08, 0.08, 0.4])
        self.prior = self.start
        self.v = np.tile(np.append(np.full(k, 1 / k), 0.0), (2, 1))
        self.P = np.array([np.eye(k + 1) * 0.05] * 2)
        self.came = np.full(2, 0.5)
        self.table = np.array([1 / (1 + np.exp(-np.linspace(-8, 8, 25))), np.full(25, 2.0)])
        self.corrections = np.array([np.zeros(25), np.full(25, 10.0)])
        self.trust, self.second_trust = np.array([0.8, 0.2]), np.array([0.8, 0.2])

    @staticmethod
    def shared(weights: Any, start: Any, said: float) -> Any:
        share = 0.003 * (1.0 - said)
        return (1.0 - share) * weights / weights.sum() + share * start

    def score(self, index: list[Any], value: list[Any]) -> Any:
        parts = zip(index, value, self.mask, self.w, strict=True)
        return sum(len(i) ** -0.5 * m * (v @ w[i]) for i, v, m, w in parts if len(i))

    def correct(self, first: float, y: bool) -> float:
        place = (np.clip(np.log(first / (1 - first)), -8, 8 * 0.999999) + 8) / 16 * 24
        knot, part = int(place), place - int(place)
        added = self.corrections[0, knot] * (1 - part) + self.corrections[0, knot + 1] * part
        corrected = np.clip(first + added, 1e-6, 1 - 1e-6)
        both = np.array([first, corrected])
        said = self.second_trust @ both
        self.second_trust = self.second_trust * (both if y else 1 - both)
        self.second_trust = self.shared(self.second_trust, np.array([0.8, 0.2]), said if y else 1 - said)
        for side, share in ((0, 1 - part), (1, part)):
            self.corrections[1, knot + side] = min(self.corrections[1, knot + side] + share, 2000)
            self.corrections[0, knot + side] += (y - corrected) * share / self.corrections[1, knot + side]
        return float(said)

    def step(self, index: list[Any], value: list[Any], y: bool, all_index: list[Any], all_value: list[Any]) -> float:
        s = self.score(index, value)
        given = np.append(np.clip(s, -8, 8), 1.0)
        stacks = 1 / (1 + np.exp(-np.clip(self.v @ given, -14, 14)))
        p = np.concatenate([1 / (1 + np.exp(-np.clip(s, -14, 14))), stacks, [self.came[1] / self.came.sum()]])
        mixed = self.prior @ p
        place = (np.clip(np.log(mixed / (1 - mixed)), -8, 8 * 0.999999) + 8) / 16 * 24
        knot, part = int(place), place - int(place)
        tabled = np.clip(self.table[0, knot] * (1 - part) + self.table[0, knot + 1] * part, 1e-6, 1 - 1e-6)
        both = np.array([mixed, tabled])
        first = self.trust @ both
        said = self.correct(first, y)
        self.prior = self.prior * np.maximum(p if y else 1 - p, 1e-6)
        self.prior = self.shared(self.prior, self.start, mixed if y else 1 - mixed)
        self.trust = self.trust * (both if y else 1 - both)
        self.trust = self.shared(self.trust, np.array([0.8, 0.2]), first if y else 1 - first)
        self.came[int(y)] += 1.0
        for side, share in ((0, 1 - part), (1, part)):
            self.table[1, knot + side] = min(self.table[1, knot + side] + share, 2000)
            self.table[0, knot + side] += (y - self.table[0, knot + side]) * share / self.table[1, knot + side]
        for j, keep in enumerate((0.9998, 0.998)):
            x, q = (given, stacks[j]) if y else (-given, 1 - stacks[j])
            h, Px = max(q * (1 - q), 1e-3), self.P[j] @ x
            grow = 1 / keep if np.trace(self.P[j]) < 0.5 * len(x) else 1.0
            self.v[j] += Px * (1 - q) / (1 + h * x @ Px)
            self.P[j] = (self.P[j] - h * np.outer(Px, Px) / (1 + h * x @ Px)) * grow
        miss = y - 1 / (1 + np.exp(-np.clip(self.score(all_index, all_value), -14, 14)))
        for i, v, m, w, G in zip(all_index, all_value, self.mask, self.w, self.G, strict=True):
            slope = np.outer(v, miss * m) * max(len(i), 1) ** -0.5
            G[i] += slope**2
            w[i] += slope * (self.a / np.sqrt(G[i] + 1e-12) + self.c)
        return float(said)


def features_at_hand(memory: Any) -> tuple[list[Any], list[Any]]:
    """Return the indices and the values of the active features, by group."""
    index = [cells_at_hand(memory, group).copy() for group in range(4)]
    values = [memory["value"][group, : len(index[group])].astype(np.float64) for group in range(2)]
    return index, [*values, *(np.ones(len(part)) for part in index[2:])]


def test_every_row_is_answered_and_learned_as_by_the_reference() -> None:
    # Rows before and after the first thresholds; "least" has neither replays nor lessons.
    x, y = mixed_stream(300)
    model = AutoClassifier(seed=1, compute="least")
    memory = model._model.memory
    reference = Reference(memory["adaptive"][0], memory["constant"][0], memory["mask"][0], [], [])
    worst, compared = 0.0, 0
    for i, (row, label) in enumerate(zip(x, y, strict=True)):
        # The cells are taken over where features are added between rows, and learned by the reference from then on.
        if i in (0, 100):
            cells = [np.array(memory[name][0, :, 0], dtype=np.float64) for name in ("raw", "bins", "leaves", "leaves")]
            cells[0] = np.vstack([cells[0], np.zeros((64, 16))])
            reference.w = [part[:, :8] for part in cells]
            reference.G = [part[:, 8:] for part in cells]
            reference.w[3], reference.G[3] = reference.w[2], reference.G[2]
        known = model._model.features.names
        said = model._model.answer_one(row)[0, 1]
        given = features_at_hand(memory)
        model.learn_one(row, label)
        # A new column is learned with the row that brings it, but is no part of its answer.
        learned = features_at_hand(memory) if model._model.features.names != known else given
        answered = reference.step(*given, label, *learned)
        if model._model.features.names == known:
            worst = max(worst, abs(answered - said))
            compared += 1
    assert compared > 280
    # Weights are float32 there and float64 here: 300 rows of rounding.
    assert worst < 1e-4
    assert np.allclose(memory["prior"], reference.prior, atol=1e-3)
    assert memory["stack"].shape[0] == STACKS
