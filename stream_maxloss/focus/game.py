"""The game on a window: player, slack, gate and snapshots, and what is remembered of each slot."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.described import ArrayOf, check_state
from stream_maxloss.focus.admission import Admission, AdmitAll, ClassQuota, make_admission
from stream_maxloss.focus.arena import Arena, arena_at, handle_of
from stream_maxloss.focus.gate import Gate
from stream_maxloss.focus.player import ETA, GAMMA, ROUNDS, SIZE, Player, make_update, player_admit, player_draw
from stream_maxloss.focus.policy import Policy
from stream_maxloss.focus.slack import Slack, SlackBook
from stream_maxloss.focus.slices import Roster, make_slice_update, slice_find
from stream_maxloss.focus.snapshots import SnapshotSchedule
from stream_maxloss.machine.compiled import compiled, made_once
from stream_maxloss.machine.kinds import boolean, float64, int64
from stream_maxloss.random import make_generator, next_below, next_uniform
from stream_maxloss.state import join_parts, part_of

__all__ = ["Game", "default_replays", "replay_entry_point"]

# Each part draws from its own sequence, so that how often one draws never shifts another.
GATE_SEED = 0x5DEECE66D1CE4E5B
SNAPSHOT_SEED = 0x2545F4914F6CDD1D


def default_replays(window: int) -> int:
    """Return the number of replays a row: about log2 of the window.

    A row spends `window` arrivals in the window, so the window sees window * replays rounds while it turns over, and
    theorem 1 of Shalev-Shwartz and Wexler (2016) asks for the order of m log(m) rounds on m rows.
    """
    return max(1, round(math.log2(window)))


@made_once
def replay_entry_point(
    raised: Callable[..., float], by_slice: bool = False
) -> Callable[[int, int, float, float, bool], tuple[int, float]]:
    """Return finish(handle, slot, probability, loss, again) of a policy.

    It finishes the round of a slot, none where that is -1, and, if asked, draws the next: one crossing from Python
    instead of three, no array in it, and without numba's choice among argument types.
    """
    update, update_slice = make_update(raised), make_slice_update(raised)

    def replay_step(handle: int, slot: int, probability: float, loss: float, again: bool) -> tuple[int, float]:
        arena = arena_at(handle)
        game, settings = arena.game, arena.settings
        if slot >= 0:
            if by_slice:
                eta = game[ETA] if game[ETA] > 0.0 else 0.5 / game[SIZE]
                update_slice(arena.firsts, arena.slice_of, arena.slice_weights, settings, slot, game[GAMMA], eta * loss)
                game[ROUNDS] += 1.0
            else:
                update(arena.nodes, arena.starts, game, settings, slot, probability, loss)
            arena.replayed[slot] += 1
        if not again:
            return -1, 0.0
        if not by_slice:
            return player_draw(arena.nodes, arena.starts, game, arena.generator)
        if next_uniform(arena.generator) < game[GAMMA]:
            return next_below(arena.generator, np.int64(game[SIZE])), 0.0
        point = next_uniform(arena.generator)
        return slice_find(arena.firsts, arena.order, arena.slice_weights, point), 0.0

    kernel = compiled(replay_step)
    signature = (int64, int64, float64, float64, boolean)
    kernel.compile(signature)
    entry_point: Callable[[int, int, float, float, bool], tuple[int, float]]
    entry_point = kernel.overloads[signature].entry_point
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
    policy
        How rows are weighed: a `Policy` or its name.

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
        policy: str | Policy = "exponential",
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
        self.player = Player(window, gamma, eta, share, base, policy)
        by_slice = self.player.policy.by_slice
        if by_slice and share:
            raise ValueError(f"share must be 0 with weights over slices, got {share!r}; slices are not forgotten")
        self.roster = Roster(window if by_slice else 0)
        self.slack = SlackBook(slack if isinstance(slack, Slack | None) else Slack(slack), window, rounds)
        admission = make_admission(admission)
        # Every row enters either way; by slice the oldest row of the largest slice leaves.
        admission = ClassQuota() if by_slice and type(admission) is AdmitAll else admission
        self.gate = Gate(admission, window, base ^ GATE_SEED)
        self.schedule = SnapshotSchedule(snapshots, rounds if span == "window" else None, base ^ SNAPSHOT_SEED)
        self.arrived = np.zeros(window, dtype=np.int64)
        self.replayed = np.zeros(window, dtype=np.int32)
        self._handle: NDArray[np.int64] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # A copy has arrays of its own, at other addresses.
        return {**self.__dict__, "_handle": None}

    @property
    def handle(self) -> int:
        """The address of the table of arrays that kernels take; it holds as long as this game lives."""
        if self._handle is None:
            player, slack, schedule = self.player, self.slack, self.schedule
            self._handle = handle_of(
                Arena(
                    nodes=player.tree.nodes,
                    starts=player.tree.starts,
                    game=player.game,
                    generator=player.generator,
                    settings=player.settings,
                    book=slack.book,
                    slack=slack.values,
                    heap=slack.heap,
                    where=slack.where,
                    plan=schedule.plan,
                    plan_generator=schedule.generator,
                    replayed=self.replayed,
                    firsts=self.roster.firsts,
                    slice_of=self.roster.slice_of,
                    place=self.roster.place,
                    order=self.roster.order,
                    slice_weights=self.roster.weights,
                )
            )
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
    def by_slice(self) -> bool:
        """Whether slices have the weights."""
        return self.player.policy.by_slice

    def weights(self) -> NDArray[np.float64]:
        """Return the weight of each row held."""
        return self.roster.row_weights(self.size) if self.by_slice else self.player.weights()

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probability of each row held to be the next one drawn."""
        weights, gamma = self.weights(), self.player.game[GAMMA]
        return gamma / max(self.size, 1) + (1.0 - gamma) * weights / weights.sum()

    @property
    def nbytes(self) -> int:
        """Bytes held, without the rows."""
        parts = self.player.nbytes + self.slack.nbytes + self.gate.nbytes + self.roster.nbytes
        return int(parts + self.arrived.nbytes + self.replayed.nbytes)

    def admit(self, label: Any, slice_name: Any = None) -> int:
        """Let a row come: settle its slot and start it there. Give the slot, or -1 if it does not enter."""
        slot = self.gate.settle(slice_name if self.by_slice else label)
        if slot >= 0:
            if self.slack.active:
                self.slack.release(slot)
            player_admit(self.player.tree.nodes, self.player.tree.starts, self.player.game, slot)
            if self.by_slice:
                self.roster.enter(slot, self.roster.code_of(slice_name))
            self.arrived[slot] = self.gate.seen
            self.replayed[slot] = 0
        return slot

    def ages(self) -> NDArray[np.int64]:
        """Return for each row held how many rows have come since."""
        return self.gate.seen - self.arrived[: self.size]

    def describe(self) -> dict[str, float]:
        """Return the state of the game in a few numbers."""
        weights = np.sort(self.weights())[::-1]
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
            state |= join_parts({name: getattr(self, name).state_dict()})
        return state | (join_parts({"slices": self.roster.state_dict()}) if self.by_slice else {})

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up the state of a game of the same parameters."""
        slots = (self.capacity,)
        check_state(state, {"arrived": ArrayOf("int64", slots, low=0), "replayed": ArrayOf("int32", slots)})
        self.arrived[:] = state["arrived"]
        self.replayed[:] = state["replayed"]
        for name in ("player", "slack", "gate", "schedule"):
            getattr(self, name).load_state_dict(part_of(state, name))
        if self.by_slice:
            self.roster.load_state_dict(part_of(state, "slices"), self.size)


def check_count(name: str, value: Any, least: int, remedy: str) -> None:
    """Refuse anything but an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {value!r}; {remedy}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}; {remedy}")
