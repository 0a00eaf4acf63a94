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


def believed(probability, epsilon, missed, classes):
    """Return how far a label is believed that was given `probability` before it came, by Bayes' rule.

    A share epsilon of labels is replaced by another class, each alike. With q the probability that a row is of class y,
    it gets the label y with probability p = (1 - epsilon) q + epsilon (1 - q) / (classes - 1), and is of it in the
    first part. A share `missed` of all labels was wrong or missed; only what flips explain of it is doubted.
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        q = (low + high) / 2
        p = (1 - epsilon) * q + epsilon * (1 - q) / (classes - 1)
        low, high = (q, high) if p < probability else (low, q)
    true = (1 - epsilon) * low
    share = true / (true + epsilon * (1 - low) / (classes - 1))
    share = 1 - min(epsilon / missed, 1) * (1 - share) if epsilon else 1.0
    return share if share >= 0.5 else 0.0


class Doubt:
    """How often answers are wrong on the surest fifth of the rows."""

    def __init__(self):
        self.border, self.outcomes, self.all_outcomes = 3.0, [0.0], []

    def observe(self, answer, label):
        """Take in the probability of each class, and the class that came."""
        top = min(max(max(answer), 1e-6), 1 - 1e-6)
        is_sure = np.log(top / (1 - top)) >= self.border
        self.border += 0.016 if is_sure else -0.004
        self.all_outcomes.append(0.0 if np.argmax(answer) == label else 1.0)
        if is_sure:
            self.outcomes.append(self.all_outcomes[-1])

    @property
    def epsilon(self):
        """The share that is certain, by two deviations."""
        wrong, rows = np.mean(self.outcomes), len(self.outcomes)
        return max(0.0, wrong - 2 * np.sqrt(wrong * (1 - wrong) / rows))
