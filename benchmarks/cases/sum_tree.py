"""Drawing from changing weights, and whether the totals stay right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.point import OURS, Point, claim, floor_claims

TITLE = "Sum-trees"
INCLUDED = (
    "Draw 256 slots in proportion to their weights, then set 256 new weights on them. `stream_maxloss` does both in "
    "one compiled kernel, as the focused learner does; `stream_maxloss from Python` calls `SumTree.sample_many` and "
    "`set_many`. cpprb's `PrioritizedReplayBuffer` (alpha 1) has no tree of its own to call: its draw also gathers one "
    "stored float and the importance weight per row. sumtree and discrete-dists are bare trees."
)
AXIS = "slots"
BATCH = 256
PEERS = ("stream_maxloss from Python", "cpprb", "sumtree", "discrete-dists")
EXACT = 1e-12
LEAVES = 4096
DRAWS = 400_000


def points(quick: bool) -> list[Point]:
    """Return one point per size, and the test of the totals."""
    sizes = (100_000,) if quick else (1_000, 100_000, 1_000_000)
    timed = [
        Point(str(n), f"{n:,} slots", (OURS, *PEERS), {"slots": n}, "draw and update", {"cpprb": 3.0}) for n in sizes
    ]
    return [*timed, Point("totals", "totals after weights decades apart", (OURS, *PEERS[1:]), {}, kind="fact")]


class OurTree:
    """Ours, from Python."""

    def __init__(self, slots: int) -> None:
        from stream_maxloss.focus.sum_tree import SumTree
        from stream_maxloss.random import make_generator

        self.tree = SumTree(slots)
        self.generator = make_generator(seed=1)

    def set(self, places: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """Set weights."""
        self.tree.set_many(places, weights)

    def draw(self, count: int) -> Any:
        """Draw slots."""
        return self.tree.sample_many(self.generator, count)

    def total(self) -> float | None:
        """Return the sum of all weights."""
        return self.tree.total


class Cpprb:
    """cpprb's buffer, with one stored number per row."""

    def __init__(self, slots: int) -> None:
        from cpprb import PrioritizedReplayBuffer

        self.buffer = PrioritizedReplayBuffer(slots, {"x": {"shape": 1}}, alpha=1.0, eps=0.0)
        self.buffer.add(x=np.zeros((slots, 1)), priorities=np.ones(slots))

    def set(self, places: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """Set weights."""
        self.buffer.update_priorities(places, weights)

    def draw(self, count: int) -> Any:
        """Draw slots."""
        return self.buffer.sample(count, beta=1.0)["indexes"]

    def total(self) -> float | None:
        """Return nothing: the sum is not exposed."""
        return None


class RustTree:
    """The package sumtree."""

    def __init__(self, slots: int) -> None:
        from sumtree import SumTree

        self.tree = SumTree(slots)
        for _ in range(slots):
            self.tree.add(1.0)

    def set(self, places: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """Set weights."""
        self.tree.update_batched(places, weights)

    def draw(self, count: int) -> Any:
        """Draw slots."""
        return self.tree.sample(count)[0]

    def total(self) -> float | None:
        """Return the sum of all weights."""
        return float(self.tree.total)


class DiscreteDists:
    """The package discrete-dists."""

    def __init__(self, slots: int) -> None:
        from discrete_dists import Proportional, Rng

        self.distribution = Proportional(slots)
        self.generator = Rng(1)

    def set(self, places: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """Set weights."""
        self.distribution.update(places, weights)

    def draw(self, count: int) -> Any:
        """Draw slots."""
        return self.distribution.sample(self.generator, count)

    def total(self) -> float | None:
        """Return the sum of all weights."""
        return float(self.distribution.tree.total())


TREES: dict[str, type] = {
    OURS: OurTree,
    "stream_maxloss from Python": OurTree,
    "cpprb": Cpprb,
    "sumtree": RustTree,
    "discrete-dists": DiscreteDists,
}


def prepare(system: str, settings: dict[str, Any]) -> Callable[[], int]:
    """Return one batch of draws and updates."""
    slots = settings["slots"]
    tree = TREES[system](slots)
    generator = np.random.default_rng(1)
    tree.set(np.arange(slots), generator.random(slots) + 0.5)
    fresh = generator.random((64, BATCH)) + 0.5
    turn = 0
    if system == OURS:
        from benchmarks.cases.sum_tree_kernel import draw_and_set

        inner, found = tree.tree, np.empty(BATCH, dtype=np.int64)

        def kernel() -> int:
            nonlocal turn
            draw_and_set(inner.nodes, inner.starts, tree.generator, found, fresh[turn % 64])
            turn += 1
            return BATCH

        return kernel

    def work() -> int:
        nonlocal turn
        tree.set(tree.draw(BATCH), fresh[turn % 64])
        turn += 1
        return BATCH

    return work


def observe(system: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return how far the total and the draws are off after weights decades apart came and went.

    First 200,000 weights between 1e-8 and 1e12 on random slots, then all slots near 1e-7. The draws' error is half the
    summed distance between frequencies and probabilities, in units of what a fair sample of that length shows.
    """
    tree = TREES[system](LEAVES)
    generator = np.random.default_rng(1)
    for _ in range(200_000 // BATCH):
        tree.set(generator.integers(0, LEAVES, BATCH), 10.0 ** generator.uniform(-8.0, 12.0, BATCH))
    weights = 1e-7 * generator.uniform(1.0, 3.0, LEAVES)
    tree.set(np.arange(LEAVES), weights)
    true = float(np.sum(weights))
    probabilities = weights / true
    draws = np.concatenate([np.asarray(tree.draw(1000), dtype=np.int64) for _ in range(DRAWS // 1000)])
    frequencies = np.bincount(draws, minlength=LEAVES) / len(draws)
    # E|f - p| = sqrt(2 p / (pi n)) for a fair sample of length n.
    fair = float(np.sum(np.sqrt(2.0 * probabilities / (np.pi * len(draws)))))
    total = tree.total()
    return {
        "total": total,
        "true total": true,
        "relative error": None if total is None else abs(total - true) / true,
        "error of the draws": float(np.sum(np.abs(frequencies - probabilities))) / fair,
    }


def fails(fact: dict[str, Any]) -> bool:
    """Tell whether a tree's total or its draws are wrong."""
    error = fact["relative error"]
    return (error is not None and error > EXACT) or fact["error of the draws"] > 1.2


def conclude(measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the ratios and our total's error."""
    claims = floor_claims(points(False), measured)
    fact = measured.get("totals", {}).get("facts", {}).get(OURS, {})
    if "relative error" in fact:
        error = fact["relative error"]
        claims.append(
            claim("totals", "relative error of our total", error, suffix="", target=EXACT, at_most=True),
        )
    return claims


def tables(measured: dict[str, dict[str, Any]]) -> list[tuple[list[str], list[list[str]]]]:
    """Return the table of totals, with who fails."""
    facts = measured.get("totals", {}).get("facts", {})
    rows = []
    for system, fact in facts.items():
        if "missing" in fact:
            rows.append([system, "-", "-", "-", "not installed"])
            continue
        total = "not exposed" if fact["total"] is None else f"{fact['total']:.6g}"
        error = "-" if fact["relative error"] is None else f"{fact['relative error']:.2g}"
        verdict = "**fails**" if fails(fact) else "right"
        rows.append([system, total, error, f"{fact['error of the draws']:.2f}", verdict])
    header = ["tree", "total", "relative error", "error of the draws (1 = a fair sample's)", "verdict"]
    return [(header, rows)] if rows else []
