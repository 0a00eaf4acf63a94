"""The policies of the game in plain NumPy: nothing of the project is imported."""

from __future__ import annotations

import numpy as np


def capped_projection(q, cap):
    """Return the nearest point to q, in relative entropy, among distributions of at most `cap` a row, by bisection."""
    low, high = 1.0, 1e12
    for _ in range(200):
        middle = (low * high) ** 0.5
        if np.minimum(cap, middle * q).sum() < 1.0:
            low = middle
        else:
            high = middle
    return np.minimum(cap, high * q) if q.max() > cap else q


def dense_game(rows, slots, losses, gamma, cap=1.0, share=0.0, moves=True):
    """Yield the probability of each slot that was drawn, as a game over all rows has it before the round.

    p = gamma/n + (1 - gamma) q; q_i <- q_i exp(loss / (2 n p_i)), projected onto q <= cap; q <- (1 - share) q +
    share/n.
    """
    q = np.full(rows, 1.0 / rows)
    for (slot, _), loss in zip(slots, losses, strict=True):
        p = gamma / rows + (1.0 - gamma) * q[slot]
        yield p
        if moves:
            q[slot] *= np.exp(loss / (2 * rows * p))
            q = capped_projection(q / q.sum(), cap)
        q = (1.0 - share) * q + share / rows


def credence(probability, epsilon):
    """Return how probable it is that a label is true, given a model's probability of it and the share of flips."""
    true = (1.0 - epsilon) * probability
    return true / (true + epsilon * (1.0 - probability))
