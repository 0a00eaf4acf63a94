"""Loops around single pieces of a replay, compiled, for `benchmarks.profile`."""

from __future__ import annotations

from typing import Any

from stream_maxloss.focus.player import player_draw, playing
from stream_maxloss.focus.policy import Exponential
from stream_maxloss.focus.sum_tree import tree_find, tree_set
from stream_maxloss.linear.sums import dot, vector_at
from stream_maxloss.machine.compiled import compiled
from stream_maxloss.random import next_below, next_uniform

__all__ = ["draw_slots", "find_slots", "score_slots", "set_slots", "update_slots"]

# This policy looks at no settings, so that any array will do for them.
update = playing(Exponential.raised)


@compiled
def draw_slots(nodes: Any, starts: Any, game: Any, generator: Any, rounds: int) -> float:
    """Draw slots, with their probabilities."""
    total = 0.0
    for _ in range(rounds):
        slot, probability = player_draw(nodes, starts, game, generator)
        total += probability + slot
    return total


@compiled
def find_slots(nodes: Any, starts: Any, generator: Any, rounds: int) -> int:
    """Find the slots of random points of the total."""
    total = 0
    for _ in range(rounds):
        total += tree_find(nodes, starts, next_uniform(generator) * nodes[starts[-1] - 1])
    return total


@compiled
def set_slots(nodes: Any, starts: Any, slots: int, generator: Any, rounds: int) -> None:
    """Change random weights a little, up and down by turns, so that the total stays where it is."""
    factor = 1.000001
    for _ in range(rounds):
        slot = next_below(generator, slots)
        tree_set(nodes, starts, slot, nodes[slot] * factor)
        factor = 1.0 / factor


@compiled
def update_slots(nodes: Any, starts: Any, game: Any, generator: Any, rounds: int) -> None:
    """Play rounds of a small loss on random slots, up and down by turns."""
    loss = 1e-6
    for _ in range(rounds):
        update(nodes, starts, game, game, next_below(generator, 10_000), 1e-4, loss)
        loss = -loss


@compiled
def score_slots(memory: Any, matrix: Any, generator: Any, rounds: int) -> float:
    """Score random rows of a window."""
    v = vector_at(memory.ctypes.data, 0)
    total = 0.0
    for _ in range(rounds):
        x = matrix.ctypes.data + 8 * matrix.shape[1] * next_below(generator, matrix.shape[0])
        total += dot(v, (0, x, matrix.shape[1], 1))
    return total
