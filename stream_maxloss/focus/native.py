"""The fast way: arrival and replays of one of our own learners inside kernels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.described import ArrayOf, check_state
from stream_maxloss.errors import ModelError
from stream_maxloss.focus import arrays, kernels
from stream_maxloss.focus.game import Game
from stream_maxloss.focus.native_window import NativeWindow
from stream_maxloss.focus.rounds import Play
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.batch_checks import check_length
from stream_maxloss.linear.batches import score_frame
from stream_maxloss.linear.faults import check_rows, refuse_row
from stream_maxloss.linear.model import LinearModel, fits
from stream_maxloss.linear.passes import row_kernels
from stream_maxloss.linear.scaled import scale_rows_of
from stream_maxloss.linear.scaler import Scaler
from stream_maxloss.linear.sums import OVERFLOW, fault_kind
from stream_maxloss.machine.pointers import address_of
from stream_maxloss.rows import Rows, read_frame, read_row
from stream_maxloss.state import part_of

__all__ = ["NativeReplay"]

Floats = NDArray[np.float64]


class NativeReplay:
    """Plays a game around a `LinearModel`, for one row or for many, with the same draws and results.

    Parameters
    ----------
    model
        The learner's model; its memory is changed in place.
    game
        The game.
    loss, output
        Codes from `arrays`: the loss that the game sees, and what is predicted with.
    scale, low, high
        For `arrays.ABSOLUTE_ERROR`: the error that counts as 1 (0 for the targets' deviation), and the range that
        predictions are clipped to.

    """

    def __init__(
        self,
        model: LinearModel,
        game: Game,
        loss: int,
        output: int,
        scale: float = 0.0,
        low: float = -np.inf,
        high: float = np.inf,
    ) -> None:
        if output != arrays.LAST and model.program.scores != 1:
            raise ValueError("output must be 'last' for a learner with several scores a row; its snapshots cannot vote")
        self.model = model
        self.game = game
        self.window = NativeWindow(game.capacity, sparse=not model.features.grows)
        self._setup = np.array([game.replays, loss, output, scale, low, high], dtype=np.float64)
        self._spread = np.zeros(3)
        self._copies = np.zeros((int(game.schedule.plan[0]), len(model.memory)))
        # A program that prepares rows looks at which values were absent, so it must be shown them.
        self._counts_columns = model.program.prepare is not None
        self._begin()

    def _begin(self) -> None:
        self._alone = np.zeros(1, dtype=np.int64)
        self._drawn, self._points = np.zeros(arrays.CHUNK, dtype=np.int64), np.zeros(arrays.CHUNK)
        # The slices of the rows that come.
        self._codes = np.zeros(1, dtype=np.int64)
        self._table: tuple[Any, Any, Any, NDArray[np.int64]] | None = None
        self._places = (0, 0)
        self._plays: dict[bool, Play] = {}
        self._row_games: dict[bool, type[kernels.RowGame]] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Elsewhere the arrays have other addresses.
        left_out = ("_alone", "_codes", "_drawn", "_places", "_plays", "_points", "_row_games", "_table")
        return {key: value for key, value in self.__dict__.items() if key not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    @property
    def _play(self) -> Play:
        """What is played, as kernels are made for it."""
        has_share = not self.game.player.is_plain
        if has_share not in self._plays:
            loss, output = int(self._setup[arrays.LOSS]), int(self._setup[arrays.OUTPUT])
            has_slack, has_snapshots = self.game.slack.active, len(self._copies) > 0
            policy = type(self.game.player.policy)
            self._plays[has_share] = Play(
                row_kernels(self.model.program),
                loss,
                output,
                policy.seen,
                policy.stride,
                policy.raised,
                has_slack,
                has_share,
                has_snapshots,
                self.game.by_slice,
                self.game.slack.is_hard,
            )
        return self._plays[has_share]

    def _tables(self) -> tuple[int, int]:
        """Return the addresses of the learner's memory and of the table, for a kernel call at once."""
        memory, window = self.model.memory, self.window.arrays
        if self._copies.shape[1] != len(memory):
            self._grow_copies()
        copies, known = self._copies, self._table
        if known is None or known[0] is not memory or known[1] is not window or known[2] is not copies:
            game = self.game
            others = (game.arrived, game.replayed, self._setup, self._spread, self._drawn, self._points, self._alone)
            places = [address_of(copies), copies.shape[1], *(address_of(array) for array in (*others, self._codes))]
            table = np.array([*self.window.table.tolist(), *places], dtype=np.int64)
            self._table = memory, window, copies, table
            self._places = address_of(memory), address_of(table)
        return self._places

    def _take_codes(self, codes: list[int]) -> None:
        """Hold the slices of the rows that come where kernels find them."""
        self._codes = np.array(codes, dtype=np.int64)
        if self._table is not None:
            self._table[3][arrays.CODES] = address_of(self._codes)

    def _held(self) -> tuple[tuple[int, int], tuple[Any, ...]]:
        """Return the addresses as `_tables` does, and what they point into.

        Whoever only reads keeps out no other thread, which may put larger arrays in their place meanwhile.
        """
        while True:
            held = self.model.memory, self.window.arrays, self._copies
            tables = self._tables()
            if held[0] is self.model.memory and held[1] is self.window.arrays and held[2] is self._copies:
                return tables, (*held, self._table)

    def _grow_copies(self) -> None:
        capacity = int(self.model.memory[layout.CAPACITY])
        grown = np.zeros((len(self._copies), len(self.model.memory)))
        for place in range(self.game.schedule.stored):
            grown[place] = layout.grow(self._copies[place], capacity, self.model.initial)
        self._copies = grown

    @property
    def alone(self) -> int:
        """How many rows of the last batch were scored before there was a snapshot."""
        return int(self._alone[0])

    @property
    def snapshots(self) -> int:
        """Number of snapshots held."""
        return self.game.schedule.stored

    @property
    def nbytes(self) -> int:
        """Bytes of rows and snapshots."""
        return self.window.nbytes + int(self._copies.nbytes)

    def learn(self, x: Mapping[Hashable, Any], target: float, w: float, slice_name: Any = None) -> None:
        """Learn one row and replay."""
        model, game, window, policy = self.model, self.game, self.window, self.game.player.policy
        model.learn(x, target, w)
        columns, row = read_row(x, model.features, learn=False) if self._counts_columns else model.row_at_hand(x)
        with model:
            if policy.by_slice:
                slot = game.gate.settle(slice_name)
                self._take_codes([game.roster.code_of(slice_name)])
            else:
                slot = game.gate.settle(target if model.kernels.program.scores == 0 else target > 0.0)
            if not window.has_room(len(model.features)):
                window.reserve(len(model.features), 1, len(row), game.size)
            row_game = self._row_games.get(game.player.is_plain) or self._make_row_game()
            is_finite = row_game.play(
                *self._tables(),
                game.replays,
                slot,
                game.gate.seen,
                0 if columns is None else address_of(columns),
                address_of(row),
                len(row),
                target,
                float(w),
                game.handle,
            )
        if not is_finite:
            raise diverged()

    def replay(self, rounds: int) -> None:
        """Play rounds without an arrival.

        Raises
        ------
        ValueError
            If the learner diverges.

        """
        with self.model:
            is_finite = kernels.replay_window(self._play)(*self._tables(), rounds, self.game.handle)
        if not is_finite:
            raise diverged()

    def _make_row_game(self) -> type[kernels.RowGame]:
        row_game = self._row_games[self.game.player.is_plain] = kernels.row_game(self._play)
        return row_game

    def learn_frame(
        self,
        frame: Any,
        targets: Floats,
        weights: Floats,
        scaler: Scaler | None = None,
        slices: list[Any] | None = None,
    ) -> Floats:
        """Learn the rows of a frame, each with its replays; give the score that each had before it was learned.

        With a scaler each row is scaled as it comes: before it is observed for the score, after for the lesson.

        Raises
        ------
        ValueError
            If a value is refused: then nothing was learned. If the learner diverges: then it was up to that row.

        """
        model = self.model
        with model:
            known = len(model.features)
            try:
                stretches = list(read_frame(frame, model.features, learn=True))
                check_rows(stretches, model.features, model.program.prepare is not None)
                check_length(sum(map(len, stretches)), targets)
                if slices is not None and len(slices) != len(targets):
                    raise ValueError(f"slices must have one name per row, got {len(slices)} for {len(targets)} rows")
            except Exception:
                model.features.truncate(known)
                raise
            scores = model.room_for_scores(len(targets))
            first = self._alone[0] = 0
            for rows in stretches:
                part = slice(first, first + len(rows))
                shown = None if scaler is None else scale_rows_of(scaler, model, rows)
                names = None if slices is None else slices[part]
                scores[part] = self.learn_rows(rows, targets[part], weights[part], shown, names)
                first += len(rows)
            return scores

    def learn_rows(
        self,
        rows: Rows,
        targets: Floats,
        weights: Floats,
        shown: Floats | None = None,
        slices: list[Any] | None = None,
    ) -> Floats:
        """Learn rows that were read with this model's feature map; give the scores before learning.

        Parameters
        ----------
        rows
            What is learned; kernels may write to it.
        targets, weights
            Signs or targets, and sample weights.
        shown
            Values of the same shape as those of `rows` to score instead, before the row is learned.
        slices
            Names of the rows' slices; None for rows without.

        Raises
        ------
        ValueError
            If the learner diverges; the rows before were learned.

        """
        model, game = self.model, self.game
        model._make_room()
        slots, scores = self._settle(targets, slices), model.room_for_scores(len(rows))
        if not self.window.has_room(len(model.features)):
            entries = int(np.count_nonzero(rows.values) - np.isnan(rows.values).sum())
            self.window.reserve(len(model.features), len(rows), entries, game.size)
        row, status = kernels.learn_batch(self._play)(
            *self._tables(),
            game.replays,
            game.gate.seen - len(rows),
            *rows.addresses(),
            address_of(rows.values if shown is None else shown),
            *map(address_of, (slots, targets, weights, scores)),
            game.handle,
        )
        if row >= 0:
            raise diverged() if fault_kind(status) == OVERFLOW else refuse_row(rows, model.features, row, status)
        return scores

    def _settle(self, targets: Floats, slices: list[Any] | None) -> NDArray[np.int64]:
        gate = self.game.gate
        if self.game.by_slice:
            names = [None] * len(targets) if slices is None else slices
            self._take_codes([self.game.roster.code_of(name) for name in names])
            return gate.settle_many(names)
        if not gate.by_label:
            return gate.settle_many(targets)
        return gate.settle_many((targets if self.model.program.scores == 0 else targets > 0.0).tolist())

    def score(self, x: Mapping[Hashable, Any]) -> float:
        """Score one row: with the learner, or with its snapshots."""
        if not self.snapshots:
            return self.model.score(x)
        columns, values = read_row(x, self.model.features, learn=False)
        return float(self._scores_of(Rows((), columns, values, np.array([0, len(columns)]), False), 0)[0])

    def scores(self, frame: Any) -> Floats:
        """Score the rows of a frame: with the learner, or with its snapshots."""
        if not self.snapshots:
            return score_frame(self.model, frame)
        parts, first = [], 0
        for rows in read_frame(frame, self.model.features, learn=False):
            parts.append(self._scores_of(rows, first))
            first += len(rows)
        return np.concatenate(parts)

    def _scores_of(self, rows: Rows, first: int) -> Floats:
        """Score rows, of which the first is row `first` of the batch, with the snapshots."""
        scores = self.model.room_for_scores(len(rows))
        run = kernels.score_snapshots(self._play)
        tables, held = self._held()
        row, status = run(*tables, self.snapshots, *rows.addresses(), address_of(scores))
        del held
        if row >= 0:
            raise refuse_row(rows, self.model.features, row, status, first)
        return scores

    def loss(self, slot: int) -> float:
        """Return the loss that the game would see on a row of the window now."""
        loss_of = kernels.loss_of_slot(self._play)
        tables, held = self._held()
        loss = float(loss_of(*tables, slot))
        del held
        return loss

    def row(self, slot: int) -> tuple[dict[Hashable, float], float, float]:
        """Return the values of a row of the window that are not zero, by name, with its target and weight."""
        columns, values = self.window.row(slot)
        names = self.model.features.names if self.model.features.grows else None
        x = {
            names[column] if names is not None else self.model.features.name_of(column): value
            for column, value in zip(columns.tolist(), values.tolist(), strict=True)
        }
        held = self.window.arrays
        return x, float(held.targets[slot]), float(held.weights[slot])

    def state_dict(self) -> dict[str, Any]:
        """Return rows and snapshots as a flat dictionary of arrays."""
        window = self.window.state_dict(self.game.size)
        return {
            "copies": self._copies.copy(),
            "spread": self._spread.copy(),
            **{f"window.{key}": value for key, value in window.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up the rows and snapshots of a player around the same learner."""
        memory, schedule = self.model.memory, self.game.schedule
        expected = {
            "copies": ArrayOf("float64", (len(self._copies), "numbers"), finite=False),
            "spread": ArrayOf("float64", (len(self._spread),)),
        }
        check_state(state, expected)
        copies = state["copies"]
        for copy in copies[: schedule.stored]:
            if not fits(copy, memory) or copy[layout.CAPACITY] > memory[layout.CAPACITY]:
                raise ValueError("copies must be of the learner's own kind and size")
        # Not the columns that there is room for: a row is shown by the names of its own.
        self.window.load_state_dict(part_of(state, "window"), self.game.size, len(self.model.features))
        self._copies = copies.copy()
        self._spread[:] = state["spread"]


def diverged() -> ModelError:
    """Return the error for a learner whose scores are no longer finite."""
    return ModelError("the score of a row must stay finite, got an overflow; lower lr or use Scaler() | model")
