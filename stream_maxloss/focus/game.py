"""The game on a window: player, slack, gate and snapshots, and what is remembered of each slot."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import carray, types
from numpy.typing import NDArray

from stream_maxloss.focus.admission import Admission, Gate, make_admission
from stream_maxloss.focus.player import ROUNDS, Player, player_admit, player_draw, player_update
from stream_maxloss.focus.slack import Slack, SlackBook
from stream_maxloss.focus.snapshots import SnapshotSchedule
from stream_maxloss.linear.compiled import compiled
from stream_maxloss.random import make_generator
from stream_maxloss.rows.vectors import pointer_to_floats, pointer_to_integers

__all__ = ["Game", "default_replays", "replay_entry_point"]

# Numbers in a player's array `game`.
PLACES = ROUNDS + 1

# Each part draws from its own sequence, so that how often one draws never shifts another.
GATE_SEED = 0x5DEECE66D1CE4E5B
SNAPSHOT_SEED = 0x2545F4914F6CDD1D


def default_replays(window: int) -> int:
    """Give the number of replays a row: about log2 of the window.

    A row spends `window` arrivals in the window, so the window sees window * replays rounds while it turns over, and
    theorem 1 of Shalev-Shwartz and Wexler (2016) asks for the order of m log(m) rounds on m rows.
    """
    return max(1, round(math.log2(window)))


# What `Game.handle` holds: the addresses of the arrays of a round, and their lengths where they vary.
NODES, STARTS, STATE, GENERATOR, REPLAYED, NODE_COUNT, START_COUNT, SLOTS = range(8)


@compiled
def replay_step(handle: int, slot: int, probability: float, loss: float, again: bool) -> tuple[int, float]:
    """Finish one round and, if asked, draw the next: one crossing from Python instead of three, and no array in it."""
    table = carray(pointer_to_integers(handle), (SLOTS + 1,))
    nodes = carray(pointer_to_floats(table[NODES]), (table[NODE_COUNT],))
    starts = carray(pointer_to_integers(table[STARTS]), (table[START_COUNT],))
    game = carray(pointer_to_floats(table[STATE]), (PLACES,))
    player_update(nodes, starts, game, slot, probability, loss)
    # Two counts of 32 bits to a word.
    replayed = carray(pointer_to_integers(table[REPLAYED]), ((table[SLOTS] + 1) // 2,)).view(np.int32)
    replayed[slot] += 1
    if again:
        return player_draw(nodes, starts, game, carray(pointer_to_integers(table[GENERATOR]), (4,)).view(np.uint64))
    return -1, 0.0


@cache
def replay_entry_point() -> Callable[[int, int, float, float, bool], tuple[int, float]]:
    """Return `replay_step` without numba's choice among argument types."""
    signature = (types.int64, types.int64, types.float64, types.float64, types.boolean)
    replay_step.compile(signature)
    entry_point: Callable[[int, int, float, float, bool], tuple[int, float]]
    entry_point = replay_step.overloads[signature].entry_point
    return entry_point


class Game:
    """Everything about a focused learner but the learner and the rows.

    Parameters
    ----------
    window
        Number of slots.
    replays
        Rounds after each arrival; `None` for about log2(window).
    gamma, eta, share
        See `Player`.
    admission
        A name or an `Admission`; see `Gate`.
    slack
        A `Slack`, a number for the L1 budget, or `None`.
    snapshots
        Number of copies of the learner to keep; 0 for none.
    span
        `"history"` or `"window"`: the rounds that the copies are drawn from.
    seed
        Seed of everything random.

    """

    def __init__(
        self,
        window: int,
        replays: int | None,
        gamma: float,
        eta: float | None,
        share: float,
        admission: str | Admission,
        slack: Slack | float | None,
        snapshots: int,
        span: str,
        seed: int | None,
    ) -> None:
        check_count("window", window, 1, "it is the number of rows to keep")
        if replays is not None:
            check_count("replays", replays, 0, "leave it None for about log2(window)")
        if span not in ("history", "window"):
            raise ValueError(f"span must be 'history' or 'window', got {span!r}; it says which rounds may be kept")
        # One seed for all parts, also where the user gave none.
        base = int(make_generator(seed)[0])
        self.replays = default_replays(window) if replays is None else int(replays)
        rounds = window * max(self.replays, 1)
        self.player = Player(window, gamma, eta, share, base)
        self.slack = SlackBook(slack if isinstance(slack, Slack | None) else Slack(slack), window, rounds)
        self.gate = Gate(make_admission(admission), window, base ^ GATE_SEED)
        self.schedule = SnapshotSchedule(snapshots, rounds if span == "window" else None, base ^ SNAPSHOT_SEED)
        self.arrived = np.zeros(window, dtype=np.int64)
        self.replayed = np.zeros(window, dtype=np.int32)
        self._handle: NDArray[np.int64] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # A copy has arrays of its own, at other addresses.
        return {**self.__dict__, "_handle": None}

    @property
    def handle(self) -> int:
        """The address of the table that `replay_step` takes; it holds as long as this game lives."""
        if self._handle is None:
            tree, player = self.player.tree, self.player
            arrays = (tree.nodes, tree.starts, player.game, player.generator, self.replayed)
            lengths = (len(tree.nodes), len(tree.starts), len(self.replayed))
            self._handle = np.array([*(array.ctypes.data for array in arrays), *lengths], dtype=np.int64)
        return int(self._handle.ctypes.data)

    @property
    def size(self) -> int:
        """Number of rows in the window."""
        return self.player.size

    @property
    def capacity(self) -> int:
        """Number of slots of the window."""
        return self.player.tree.capacity

    @property
    def nbytes(self) -> int:
        """Bytes held, without the rows."""
        parts = self.player.nbytes + self.slack.nbytes + self.gate.nbytes
        return int(parts + self.arrived.nbytes + self.replayed.nbytes)

    def admit(self, label: Any) -> int:
        """Let a row come: settle its slot and start it there. Give the slot, or -1 if it does not enter."""
        slot = self.gate.settle(label)
        if slot >= 0:
            if self.slack.active:
                self.slack.release(slot)
            player_admit(self.player.tree.nodes, self.player.tree.starts, self.player.game, slot)
            self.arrived[slot] = self.gate.seen
            self.replayed[slot] = 0
        return slot

    def ages(self) -> NDArray[np.int64]:
        """Give for each row held how many rows have come since."""
        return self.gate.seen - self.arrived[: self.size]

    def describe(self) -> dict[str, float]:
        """Give the state of the game in a few numbers."""
        weights = np.sort(self.player.weights())[::-1]
        total = weights.sum()
        q = weights / total if self.size else weights
        top = max(1, math.ceil(self.size / 100))
        return {
            "rows": self.size,
            "window": self.capacity,
            "arrivals": self.gate.seen,
            "replays": self.player.rounds,
            "effective_rows": float(1.0 / (q**2).sum()) if self.size else 0.0,
            "top_1_percent_share": float(q[:top].sum()),
            "slack_spent": self.slack.spent,
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state as a flat dictionary."""
        state: dict[str, Any] = {"arrived": self.arrived.copy(), "replayed": self.replayed.copy()}
        for name in ("player", "slack", "gate", "schedule"):
            state.update({f"{name}.{key}": value for key, value in getattr(self, name).state_dict().items()})
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up the state of a game of the same parameters."""
        self.arrived[:] = state["arrived"]
        self.replayed[:] = state["replayed"]
        for name in ("player", "slack", "gate", "schedule"):
            getattr(self, name).load_state_dict(part_of(state, name))


def part_of(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Give the entries under a dotted prefix, without it."""
    start = prefix + "."
    return {key[len(start) :]: value for key, value in state.items() if key.startswith(start)}


def check_count(name: str, value: Any, least: int, remedy: str) -> None:
    """Refuse anything but an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {value!r}; {remedy}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}; {remedy}")
