"""A batch through the models of its keys: predicted and learned group by group, as one step that can be undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stream_maxloss.errors import RowError
from stream_maxloss.evaluate.engine import Engine
from stream_maxloss.keyed.groups import Group, KeyedRows
from stream_maxloss.keyed.models import Live, Models
from stream_maxloss.keyed.opinions import Opinions
from stream_maxloss.keyed.shelf import Place
from stream_maxloss.linear.batch_checks import Labelled
from stream_maxloss.linear.grouped import learn_stretch, linear_parts, part_of_rows, read_matrix, snapshot, takes_matrix
from stream_maxloss.linear.slots import Slots
from stream_maxloss.rows import Rows
from stream_maxloss.rows.dicts import frame_to_dicts

__all__ = ["BatchStep", "ask_groups"]

# Rows of a group up to which dicts are quicker than a frame.
FEW = 3


class BatchStep:
    """Learns one batch; if a row is refused, all models are as before.

    What it takes to go back is cheap for a linear learner: a copy of its memory. Any other model is written to the
    shelf before it learns, if it is not there as it is; the bound on memory holds meanwhile.

    Parameters
    ----------
    models
        The models.
    rows
        The batch.
    y, w
        Labels and sample weights in the order of the keys; `w` may be None.
    opinions
        Takes what was said before learning.
    engine
        Runs a model that is not linear.

    """

    def __init__(self, models: Models, rows: KeyedRows, y: Any, w: Any, opinions: Opinions, engine: Engine) -> None:
        self.models = models
        self.rows = rows
        self.y = y
        self.w = w
        self.opinions = opinions
        self.engine = engine
        self._undo: list[Callable[[], None]] = []
        self._new: dict[str, None] = {}
        self._held: list[Place] = []
        self._matrix: Rows | None = None
        self._whole: np.ndarray = np.empty(0, dtype=np.bool_)

    def run(self, targets: Any = None) -> None:
        """Predict and learn every group; `targets` are the labels as a linear learner takes them, if all are linear.

        Raises
        ------
        RowError
            If a row is refused.

        """
        labelled = None
        if targets is not None:
            self._matrix = read_matrix(self.rows.rows)
            weights = np.ones(len(targets)) if self.w is None else self.w
            labelled = Labelled(targets, weights, self.opinions.scores)
        if self._matrix is not None:
            # Rows with an absent value may bring columns in another order.
            starts = [group.first for group in self.rows.groups]
            self._whole = ~np.logical_or.reduceat(np.isnan(self._matrix.values).any(axis=1), starts)
        try:
            slots = None if self._matrix is None else self.models.slots_for(list(self._matrix.names))
            if slots is None or labelled is None or self._matrix is None:
                for place, group in enumerate(self.rows.groups):
                    self._learn(place, group, self._enter(group), labelled)
            else:
                self._learn_linear(slots, self._matrix, labelled)
        except Exception as error:
            for undo in reversed(self._undo):
                undo()
            for key in reversed(self._new):
                self.models.remove(key)
            raise self._in_batch(error) from error
        finally:
            for held in self._held:
                self.models.shelf.drop(held)
        self.models.make_room()

    def _in_batch(self, error: Exception) -> Exception:
        """Return an error about a row with its number in the batch as it came."""
        if not isinstance(error, RowError):
            return error
        row = int(self.rows.order[error.row])
        return RowError(row, error.reason.replace(f"of row {error.row}", f"of row {row}", 1))

    def _enter(self, group: Group, slots: Slots | None = None) -> Live:
        """Return the model of a group; a new one goes if the batch is undone."""
        is_new = group.key not in self.models
        live = self.models.add(group.key) if slots is None else self.models.add_slot(group.key, slots)
        if is_new:
            self._new[group.key] = None
        return live

    def _learn_linear(self, slots: Slots, matrix: Rows, labelled: Labelled) -> None:
        """Learn the groups whose models lie in slots, by address, and then the others."""
        chosen: list[tuple[int, int, int]] = []
        places: list[int] = []
        others: list[tuple[int, Live]] = []
        for place, (group, is_whole) in enumerate(zip(self.rows.groups, self._whole.tolist(), strict=True)):
            # The columns of a new model stand in the order in which they come, and not all have come.
            is_open = not is_whole and (group.key not in self.models or not slots.takes_absent)
            live = self._enter(group, None if is_open else slots)
            if live.slot:
                live.is_dirty = True
                chosen.append((live.slot, group.first, group.last))
                places.append(place)
            else:
                others.append((place, live))
        refused = self._learn_slots(slots, chosen, matrix, labelled)
        end = len(self.rows.groups) if refused < 0 else places[refused]
        # The first group with a row that is refused says why: one of the others may come before.
        for place, live in others:
            if place < end:
                self._learn(place, self.rows.groups[place], live, labelled)
        if refused >= 0:
            self._refuse(slots, chosen[refused][0], places[refused], labelled)

    def _learn_slots(self, slots: Slots, chosen: list[tuple[int, int, int]], matrix: Rows, labelled: Labelled) -> int:
        """Learn groups by address; return which of them has a row that was refused, and is as before; -1 if none."""
        addresses = [address for address, _, _ in chosen]
        before = slots.copy(addresses)
        self._undo.append(lambda: slots.put_back(addresses, before))
        refused = slots.learn(chosen, matrix, labelled)
        if refused >= 0:
            slots.put_back(addresses[refused : refused + 1], before[refused : refused + 1])
        for _, first, last in chosen if len(chosen) < len(self.rows.groups) else [(0, 0, len(labelled.targets))]:
            self.opinions.is_scored[first:last] = True
        return refused

    def _refuse(self, slots: Slots, address: int, place: int, labelled: Labelled) -> None:
        """Raise the error of an object, which has names for what a kernel has numbers for."""
        group = self.rows.groups[place]
        self._learn_object(place, group, Live(slots.give(address), True, 0), labelled)
        raise RuntimeError(f"a row of {group.key!r} must be refused again, got none")

    def _learn(self, place: int, group: Group, live: Live, labelled: Labelled | None) -> None:
        parts = None if labelled is None else linear_parts(live.model)
        if parts is None or labelled is None:
            self._keep(group.key, live)
            self._learn_any(group, live)
        else:
            restore = snapshot(*parts)
            self._undo.append(lambda: self._put_back(group.key, live, restore))
            self._learn_object(place, group, live, labelled)
        self.models.learned(live)
        if parts is None:
            self.models.make_room()

    def _learn_object(self, place: int, group: Group, live: Live, labelled: Labelled) -> None:
        """Learn the rows of a linear model: as they lie, if all of its columns are there in the same order."""
        matrix, parts = self._matrix, linear_parts(live.model)
        if parts and matrix is not None and self._whole[place] and takes_matrix(parts[1], list(matrix.names)):
            part = labelled.part(group.first, group.last)
            learn_stretch(*parts, part_of_rows(matrix, group.first, group.last), part, group.first)
            self.opinions.take_scores(group, part.scores)
        else:
            self._learn_any(group, live)

    def _learn_any(self, group: Group, live: Live) -> None:
        part = slice(group.first, group.last)
        X = self.rows.rows.slice(group.first, group.last - group.first)
        self.engine.model = live.model
        y, w = self.y[part], None if self.w is None else self.w[part]
        try:
            scored = self.engine.learn(list(frame_to_dicts(X)) if len(y) <= FEW else X, y, w)
        except RowError as error:
            row = group.first + error.row
            raise RowError(row, error.reason.replace(f"of row {error.row}", f"of row {row}", 1)) from error
        except ValueError as error:
            if self.engine.busy_with is None:
                raise
            raise RowError(group.first + self.engine.busy_with, str(error)) from error
        self.opinions.take_scored(group, scored)

    def _keep(self, key: str, live: Live) -> None:
        """Make sure that a model can be brought back as it is now; a new one is forgotten instead."""
        if key in self._new:
            return
        place = self.models.write(key, live)
        self.models.shelf.keep(place)
        self._held.append(place)
        self._undo.append(lambda: self.models.rewind(key, place))

    def _put_back(self, key: str, live: Live, restore: Callable[[], None]) -> None:
        if key not in self._new:
            restore()
            self.models.restore(key, live)


def ask_groups(models: Models, prior: Any, rows: KeyedRows, opinions: Opinions, engine: Engine) -> None:
    """Predict every group and learn nothing; of a key that never came, what the prior says."""
    for group in rows.groups:
        X = rows.rows.slice(group.first, group.last - group.first)
        live = models.find(group.key)
        engine.model = prior if live is None else live.model
        try:
            scored = engine.predict(list(frame_to_dicts(X)) if X.num_rows <= FEW else X)
        except RowError as error:
            row = int(rows.order[group.first + error.row])
            raise RowError(row, error.reason.replace(f"of row {error.row}", f"of row {row}", 1)) from error
        opinions.take_scored(group, scored)
        models.make_room()
