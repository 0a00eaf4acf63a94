"""The fast way: arrival and replays of one of our own learners inside kernels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.focus import arrays, kernels
from stream_maxloss.focus.arrays import GameArrays, RowArrays
from stream_maxloss.focus.game import Game, part_of
from stream_maxloss.focus.native_window import NativeWindow
from stream_maxloss.focus.rounds import current_score, loss_seen
from stream_maxloss.focus.steady import is_steady_case, learn_steady, steady_arrays
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.faults import check_rows, refuse_row
from stream_maxloss.linear.model import LinearModel
from stream_maxloss.linear.passes import split
from stream_maxloss.linear.scaled import scale_rows_of
from stream_maxloss.linear.scaler import Scaler
from stream_maxloss.linear.scoring import OVERFLOW, fault_kind
from stream_maxloss.rows import Rows, read_frame, read_row

__all__ = ["NativeReplay"]

Floats = NDArray[np.float64]
NO_COLUMNS = np.empty(0, dtype=np.int64)


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
        self.model = model
        self.game = game
        self.window = NativeWindow(game.capacity, sparse=not model.features.grows)
        self._setup = np.array([game.replays, loss, output, scale, low, high], dtype=np.float64)
        self._spread = np.zeros(3)
        self._copies = np.zeros((int(game.schedule.plan[0]), len(model.memory)))
        self._bundle: GameArrays | None = None
        # Winnow counts the columns it has seen, so it must know which values of a row were absent.
        self._counts_columns = model.memory[layout.RULE] >= layout.WINNOW

    def _arrays(self) -> GameArrays:
        if self._copies.shape[1] != len(self.model.memory):
            self._grow_copies()
        if self._bundle is None or self._bundle.copies is not self._copies:
            self._bundle = self._make_bundle()
        return self._bundle

    def __getstate__(self) -> dict[str, Any]:
        # Pickled apart, the bundle's arrays would be copies of the game's.
        return {**self.__dict__, "_bundle": None}

    def _make_bundle(self) -> GameArrays:
        game = self.game
        return GameArrays(
            game.player.tree.nodes,
            game.player.tree.starts,
            game.player.game,
            game.player.generator,
            game.slack.book,
            game.slack.values,
            game.slack.heap,
            game.slack.where,
            game.schedule.plan,
            game.schedule.generator,
            self._copies,
            game.arrived,
            game.replayed,
            self._setup,
            self._spread,
        )

    def _grow_copies(self) -> None:
        capacity = int(self.model.memory[layout.CAPACITY])
        grown = np.zeros((len(self._copies), len(self.model.memory)))
        for place in range(self.game.schedule.stored):
            grown[place] = layout.grow(self._copies[place], capacity, self.model.initial)
        self._copies = grown

    @property
    def snapshots(self) -> int:
        """Number of snapshots held."""
        return self.game.schedule.stored

    @property
    def nbytes(self) -> int:
        """Bytes of rows and snapshots."""
        return self.window.nbytes + int(self._copies.nbytes)

    def learn(self, x: Mapping[Hashable, Any], target: float, w: float) -> None:
        """Learn one row and replay."""
        model, game = self.model, self.game
        model.learn(x, target, w)
        columns, row = self._row_at_hand(x)
        slot = game.gate.settle(target > 0.0)
        self.window.reserve(len(model.features), 1, len(row), game.size)
        status = kernels.replay_row(
            model.memory,
            slot,
            game.gate.seen,
            columns,
            row,
            len(row),
            target,
            float(w),
            *self._arrays(),
            *self.window.arrays,
        )
        if status != 0:
            raise diverged()

    def replay(self, rounds: int) -> None:
        """Play rounds without an arrival.

        Raises
        ------
        ValueError
            If the learner diverges.

        """
        setup = self._setup
        setup[arrays.REPLAYS] = rounds
        try:
            status = kernels.replay_window(self.model.memory, self._arrays(), self.window.arrays)
        finally:
            setup[arrays.REPLAYS] = self.game.replays
        if status != 0:
            raise diverged()

    def _row_at_hand(self, x: Mapping[Hashable, Any]) -> tuple[NDArray[np.int64], Floats]:
        """Give columns (none for the first ones) and values of the row that the model just learned."""
        if self._counts_columns:
            return read_row(x, self.model.features, learn=False)
        columns, row = self.model.row_at_hand(x)
        return NO_COLUMNS if columns is None else columns, row

    def learn_frame(self, frame: Any, targets: Floats, weights: Floats, scaler: Scaler | None = None) -> Floats:
        """Learn the rows of a frame, each with its replays; give the score that each had before it was learned.

        With a scaler each row is scaled as it comes: before it is observed for the score, after for the lesson.

        Raises
        ------
        ValueError
            If a value is refused: then nothing was learned. If the learner diverges: then it was up to that row.

        """
        known = len(self.model.features)
        try:
            stretches = list(read_frame(frame, self.model.features, learn=True))
            check_rows(stretches, self.model.features, self.model.memory[layout.RULE] == layout.WINNOW)
            if sum(map(len, stretches)) != len(targets):
                raise ValueError(f"y must have one label per row of X, got {len(targets)} labels")
        except Exception:
            self.model.features.truncate(known)
            raise
        scores = np.empty(len(targets))
        first = 0
        for rows in stretches:
            part = slice(first, first + len(rows))
            shown = None if scaler is None else scale_rows_of(scaler, self.model, rows)
            scores[part] = self.learn_rows(rows, targets[part], weights[part], shown)
            first += len(rows)
        return scores

    def learn_rows(self, rows: Rows, targets: Floats, weights: Floats, shown: Floats | None = None) -> Floats:
        """Learn rows that were read with this model's feature map; give the scores before learning.

        Parameters
        ----------
        rows
            What is learned; kernels may write to it.
        targets, weights
            Signs or targets, and sample weights.
        shown
            Values of the same shape as those of `rows` to score instead, before the row is learned.

        Raises
        ------
        ValueError
            If the learner diverges; the rows before were learned.

        """
        model, game = self.model, self.game
        model._make_room()
        slots, scores = self._settle(targets), np.empty(len(rows))
        if not self.window.has_room(len(model.features)):
            entries = int(np.count_nonzero(rows.values) - np.isnan(rows.values).sum())
            self.window.reserve(len(model.features), len(rows), entries, game.size)
        arrivals = game.gate.seen - len(rows)
        if is_steady_case(model.memory, game, self.window.arrays, rows):
            single = steady_arrays(self._arrays(), self.window.arrays)
            shown = rows.values if shown is None else shown
            row, status = learn_steady(
                model.memory, *single, rows.values, shown, slots, arrivals, targets, weights, scores
            )
        else:
            row, status = kernels.learn_batch(
                model.memory,
                self._arrays(),
                self.window.arrays,
                row_arrays(rows, shown),
                slots,
                arrivals,
                targets,
                weights,
                scores,
            )
        if row >= 0:
            raise diverged() if fault_kind(status) == OVERFLOW else refuse_row(rows, model.features, row, status)
        return scores

    def _settle(self, targets: Floats) -> NDArray[np.int64]:
        gate = self.game.gate
        return gate.settle_many((targets > 0.0).tolist() if gate.by_label else targets)

    def score(self, x: Mapping[Hashable, Any]) -> float:
        """Score one row: with the learner, or with its snapshots."""
        if not self.snapshots:
            return self.model.score(x)
        columns, values = read_row(x, self.model.features, learn=False)
        return float(kernels.output_score(self._arrays(), columns, 0, values, 0, len(columns)))

    def scores(self, frame: Any) -> Floats:
        """Score the rows of a frame: with the learner, or with its snapshots."""
        if not self.snapshots:
            return self.model.scores(frame)
        parts, first = [], 0
        for rows in read_frame(frame, self.model.features, learn=False):
            scores = np.zeros(len(rows))
            row, status = kernels.score_snapshots(self._arrays(), row_arrays(rows), len(rows), scores)
            if row >= 0:
                raise refuse_row(rows, self.model.features, row, status, first)
            parts.append(scores)
            first += len(rows)
        return np.concatenate(parts)

    def loss(self, slot: int) -> float:
        """Give the loss that the game would see on a row of the window now."""
        h, _, v, u = split(self.model.memory)
        score = current_score(h, v, u, self.window.arrays, slot)
        return float(loss_seen(self._setup, self._spread, h, score, self.window.arrays.targets[slot]))

    def row(self, slot: int) -> tuple[dict[Hashable, float], float, float]:
        """Give the values of a row of the window that are not zero, by name, with its target and weight."""
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
        self.window.load_state_dict(part_of(state, "window"))
        self._copies = np.array(state["copies"], dtype=np.float64)
        self._spread[:] = state["spread"]


def row_arrays(rows: Rows, shown: Floats | None = None) -> RowArrays:
    """Give the arrays of rows in the one form that the kernels take."""
    shown = rows.values if shown is None else shown
    nothing, no_matrix = np.empty(0), np.empty((0, 0))
    if rows.indptr is not None:
        return RowArrays(arrays.SPARSE, no_matrix, rows.columns, rows.values, rows.indptr, no_matrix, shown)
    form = arrays.PREFIX if rows.prefix else arrays.MATRIX
    return RowArrays(form, rows.values, rows.columns, nothing, NO_COLUMNS, shown, nothing)


def diverged() -> ValueError:
    """Give the error for a learner whose scores are no longer finite."""
    return ValueError("the score of a row must stay finite, got an overflow; lower lr or use Scaler() | model")
