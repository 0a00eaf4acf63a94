"""The p-player: which row to replay next, and what its loss does to its weight.

The kernels take plain arrays, so that the native replay loop can call them; `Player` holds those arrays for Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.described import ArrayOf, check_numbers, check_state
from stream_maxloss.focus.policy import Policy, make_policy
from stream_maxloss.focus.sum_tree import (
    RESCALE_ABOVE,
    RESCALE_BELOW,
    SMALLEST_WEIGHT,
    SumTree,
    tree_build,
    tree_find,
    tree_rescale,
    tree_set,
)
from stream_maxloss.machine.compiled import compiled, inner, made_once
from stream_maxloss.random import make_generator, next_below, next_uniform, restore_generator

__all__ = ["Player", "make_update", "player_admit", "player_draw", "playing"]

# Places in the array `game`: the weight of slot i is v_i = A u_i + B, with u_i the leaf of the tree.
A, B, GAMMA, ETA, SHARE, SIZE, ROUNDS = range(7)
# Weights stay below e^355 by rescaling; a factor of e^300 more is still a finite number.
LARGEST_EXPONENT = 300.0
# Whole numbers up to here are exact.
LARGEST_COUNT = 2.0**53


@compiled
def player_draw(
    nodes: NDArray[np.float64],
    starts: NDArray[np.int64],
    game: NDArray[np.float64],
    generator: NDArray[np.uint64],
) -> tuple[int, float]:
    """Draw a slot from p and give its probability: (i, p_i) with p_i = gamma/n + (1 - gamma) v_i/V."""
    size = game[SIZE]
    leaves = game[A] * nodes[starts[-1] - 1]
    even = size * game[B]
    # What fixed share spread evenly is drawn with the uniform part: one draw decides between even and by leaf.
    uniform = game[GAMMA] + (1.0 - game[GAMMA]) * even / (leaves + even)
    if next_uniform(generator) < uniform:
        slot = next_below(generator, np.int64(size))
    else:
        slot = tree_find(nodes, starts, next_uniform(generator) * nodes[starts[-1] - 1])
    return slot, player_probability(nodes, starts, game, slot)


@inner
def player_probability(nodes: Any, starts: Any, game: Any, slot: int) -> float:
    """Give the probability p_i with which `player_draw` draws slot i."""
    total = game[A] * nodes[starts[-1] - 1] + game[SIZE] * game[B]
    weight = game[A] * nodes[slot] + game[B]
    return game[GAMMA] / game[SIZE] + (1.0 - game[GAMMA]) * weight / total


@inner
def _share(nodes: Any, starts: Any, game: Any) -> None:
    total = game[A] * nodes[starts[-1] - 1] + game[SIZE] * game[B]
    game[A] *= 1.0 - game[SHARE]
    game[B] = (1.0 - game[SHARE]) * game[B] + game[SHARE] * total / game[SIZE]
    if game[A] < RESCALE_BELOW or nodes[starts[-1] - 1] > RESCALE_ABOVE:
        for slot in range(np.int64(game[SIZE])):
            nodes[slot] = max(game[A] * nodes[slot] + game[B], SMALLEST_WEIGHT)
        tree_build(nodes, starts)
        game[A] = 1.0
        game[B] = 0.0


@made_once
def make_update(raised: Callable[..., float]) -> Any:
    """Return update(nodes, starts, game, settings, slot, probability, loss): one round on a drawn slot.

    The weight becomes what the policy says, then v <- (1 - a) v + a V/n.
    """
    raise_one = inner(raised)

    def update(nodes: Any, starts: Any, game: Any, settings: Any, slot: int, probability: float, loss: float) -> None:
        size, total = game[SIZE], nodes[starts[-1] - 1]
        eta = game[ETA] if game[ETA] > 0.0 else 0.5 / size
        exponent = eta * loss / probability
        if game[SHARE] == 0.0 and game[B] == 0.0:
            weight = nodes[slot]
            weight = raise_one(weight, total - weight, size, exponent, settings)
            tree_set(nodes, starts, slot, max(weight, SMALLEST_WEIGHT))
        else:
            # The new v = A u' + B, solved for u'. Below B the leaf stops: what was shared evenly is not taken back.
            weight = game[A] * nodes[slot] + game[B]
            weight = raise_one(weight, game[A] * total + size * game[B] - weight, size, exponent, settings)
            tree_set(nodes, starts, slot, max((weight - game[B]) / game[A], SMALLEST_WEIGHT))
            _share(nodes, starts, game)
        game[ROUNDS] += 1.0
        total = nodes[starts[-1] - 1]
        if total > RESCALE_ABOVE or total < RESCALE_BELOW:
            game[B] *= tree_rescale(nodes, starts)

    return inner(update)


@compiled
def player_admit(nodes: NDArray[np.float64], starts: NDArray[np.int64], game: NDArray[np.float64], slot: int) -> None:
    """Give a row that enters `slot` the mean weight of the other rows; a row that was there leaves first."""
    size = np.int64(game[SIZE])
    if slot < size:
        tree_set(nodes, starts, slot, 0.0)
        others = size - 1
    else:
        game[SIZE] = size + 1
        others = size
    if others == 0:
        game[A] = 1.0
        game[B] = 0.0
        tree_set(nodes, starts, slot, 1.0)
        return
    # The mean of A u_j + B is A (mean of u_j) + B.
    tree_set(nodes, starts, slot, max(nodes[starts[-1] - 1] / others, SMALLEST_WEIGHT))


@made_once
def playing(raised: Callable[..., float]) -> Any:
    """Return `make_update` of a policy as Python calls it."""
    update = make_update(raised)

    def play(nodes: Any, starts: Any, game: Any, settings: Any, slot: int, probability: float, loss: float) -> None:
        update(nodes, starts, game, settings, slot, probability, loss)

    return compiled(play)


class Player:
    """The sampling player of Focused Online Learning over slots that are filled and refilled.

    Shalev-Shwartz and Wexler (2016, section 2) play a variant of EXP3 in which the distribution is mixed with the
    uniform one so strongly that a round costs O(log n)::

        p_i = gamma/n + (1 - gamma) v_i/V        v_i <- v_i exp(eta loss_i / p_i)

    Theirs has gamma = 1/2 and a fixed set of n rows; here rows come and go, a new one with the mean weight of
    the others, so that it is drawn with probability 1/n until its own losses speak. Added is
    fixed share, v_i <- (1 - a) v_i + a V/n after each round, which forgets what was hard long ago: the
    weights are kept as A u_i + B, with only A and B moving, so that it costs O(1).

    Parameters
    ----------
    capacity
        Number of slots.
    gamma
        Share of uniform draws, in (0, 1]. Higher explores more and weighs hard rows less; 1 is uniform replay.
    eta
        Step of the exponential update; `None` takes 1/(2n) of theorem 1, with n the rows held now.
    share
        Rate a of fixed share, in [0, 1); old weight has a half-life of ln(2)/a rounds. 0 is the paper.
    seed
        Seed of the draws.
    policy
        How the weight of a drawn row changes: a `Policy` or its name.

    Raises
    ------
    ValueError
        If a parameter lies outside its range, or `eta` is so large that one update could overflow.

    Notes
    -----
    With the default `eta` the exponent is at most 1/(2 gamma), so ln V grows by at most 1.72/n a round at gamma = 1/2
    and all weights are rescaled at most once in 200 n rounds. Fixed share folds A and B back into the leaves
    when A falls below 2^-512, once in 355/a rounds: O(1) a round as long as a n is at most a few hundred.

    References
    ----------
    Shai Shalev-Shwartz and Yonatan Wexler. Minimizing the maximal loss: how and why? ICML 2016.

    Mark Herbster and Manfred Warmuth. Tracking the best expert. Machine Learning 32, 1998 (fixed share).

    Examples
    --------
    Of three rows the second is always wrong, and soon drawn most often:

    >>> from stream_maxloss.focus.player import Player
    >>> player = Player(capacity=3, seed=1)
    >>> for slot in range(3):
    ...     player.admit(slot)
    >>> for _ in range(30):
    ...     slot, probability = player.draw()
    ...     player.update(slot, probability, loss=1.0 if slot == 1 else 0.0)
    >>> player.probabilities().round(2).tolist()
    [0.17, 0.66, 0.17]

    """

    def __init__(
        self,
        capacity: int,
        gamma: float = 0.5,
        eta: float | None = None,
        share: float = 0.0,
        seed: int | None = None,
        policy: str | Policy = "exponential",
    ) -> None:
        if not 0.0 < gamma <= 1.0:
            raise ValueError(f"gamma must lie in (0, 1], got {gamma!r}; 0.5 is the usual share of uniform draws")
        if eta is not None and not 0.0 < eta * capacity / gamma <= LARGEST_EXPONENT:
            limit = LARGEST_EXPONENT * gamma / capacity
            raise ValueError(
                f"eta must lie in (0, {limit:.3g}] at this capacity, got {eta!r}; leave it None for 1/(2n)"
            )
        if not 0.0 <= share < 1.0:
            raise ValueError(
                f"share must lie in [0, 1), got {share!r}; 0 never forgets, 1/capacity forgets within a turn"
            )
        self.policy = make_policy(policy)
        self.settings = np.array(self.policy.settings, dtype=np.float64)
        self.tree = SumTree(capacity)
        self.game = np.zeros(7, dtype=np.float64)
        self.game[A] = 1.0
        self.game[[GAMMA, ETA, SHARE]] = 1.0 if self.policy.draws_evenly else gamma, eta or 0.0, share
        self.generator = make_generator(seed)

    @property
    def size(self) -> int:
        """Number of rows in the game."""
        return int(self.game[SIZE])

    @property
    def rounds(self) -> int:
        """Number of rounds played."""
        return int(self.game[ROUNDS])

    @property
    def nbytes(self) -> int:
        """Bytes held by the player."""
        return int(self.tree.nbytes + self.game.nbytes + self.generator.nbytes)

    def admit(self, slot: int) -> None:
        """Take in a row at the next free slot, or in place of the row at an earlier one."""
        if not 0 <= slot <= self.size or slot >= self.tree.capacity:
            raise ValueError(f"slot must be an earlier one or the next, {self.size}, got {slot!r}; slots fill in order")
        player_admit(self.tree.nodes, self.tree.starts, self.game, slot)

    def draw(self) -> tuple[int, float]:
        """Draw a slot i from p; return it with p_i."""
        if self.size == 0:
            raise ValueError("the game must hold a row to draw, got none; admit one first")
        return player_draw(self.tree.nodes, self.tree.starts, self.game, self.generator)

    def update(self, slot: int, probability: float, loss: float) -> None:
        """Raise the weight of a drawn slot by its loss (in [-1, 1]: slack may make it negative)."""
        if not -1.0 <= loss <= 1.0:
            raise ValueError(f"loss must lie in [0, 1], or down to -1 under slack, got {loss!r}; scale it first")
        update = playing(type(self.policy).raised)
        update(self.tree.nodes, self.tree.starts, self.game, self.settings, slot, probability, loss)

    @property
    def is_plain(self) -> bool:
        """Whether the weights are the leaves themselves: fixed share is not, and was never, at work."""
        game = self.game
        return bool(game[SHARE] == 0.0 and game[A] == 1.0 and game[B] == 0.0)

    def weights(self) -> NDArray[np.float64]:
        """Return the weight v_i of each row held."""
        return self.game[A] * self.tree.nodes[: self.size] + self.game[B]

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probability p_i of each row held."""
        weights = self.weights()
        gamma = self.game[GAMMA]
        return gamma / max(self.size, 1) + (1.0 - gamma) * weights / weights.sum()

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state of the game as a flat dictionary of arrays."""
        return {
            "game": self.game.copy(),
            "generator": self.generator.copy(),
            **{f"tree.{key}": value for key, value in self.tree.state_dict().items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up the state of a player of the same capacity."""
        expected = {
            "game": ArrayOf("float64", (len(self.game),)),
            "generator": ArrayOf("uint64", (len(self.generator),)),
            "tree.leaves": ArrayOf("float64", (self.tree.capacity,), low=0.0),
        }
        check_state(state, expected)
        game, leaves = state["game"], state["tree.leaves"]
        most = {SIZE: self.tree.capacity, ROUNDS: LARGEST_COUNT}
        check_numbers("game", game, self.game, settled=(GAMMA, ETA, SHARE), counts=most, positive=(A,))
        size = int(game[SIZE])
        if not (game[B] >= 0.0 and leaves[:size].all() and not leaves[size:].any() and np.isfinite(leaves.sum())):
            raise ValueError(f"tree.leaves must be positive for the {size} rows held and 0 beyond; it draws from them")
        self.tree.load_state_dict({"leaves": leaves})
        self.game[:] = game
        restore_generator(self.generator, state["generator"])
