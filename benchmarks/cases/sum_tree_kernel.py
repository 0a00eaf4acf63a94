"""Draws and updates in one kernel, as the focused learner makes them."""

from __future__ import annotations

from typing import Any

from stream_maxloss.focus.sum_tree import tree_find, tree_set
from stream_maxloss.machine.compiled import compiled
from stream_maxloss.random import next_uniform

__all__ = ["draw_and_set"]


@compiled
def draw_and_set(nodes: Any, starts: Any, generator: Any, found: Any, weights: Any) -> None:
    """Draw as many slots as there are weights, then set them."""
    for k in range(len(found)):
        found[k] = tree_find(nodes, starts, next_uniform(generator) * nodes[starts[-1] - 1])
    for k in range(len(found)):
        tree_set(nodes, starts, found[k], weights[k])
