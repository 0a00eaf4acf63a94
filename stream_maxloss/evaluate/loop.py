"""Predict, score, learn: the one loop behind `progressive`, `run.Session` and every command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from stream_maxloss.errors import DecodeError, ModelError, RowError, StreamMaxlossError
from stream_maxloss.evaluate.delayed import Delayed
from stream_maxloss.evaluate.engine import Engine, Scored

if TYPE_CHECKING:
    from stream_maxloss.evaluate.batch import RowBatch

__all__ = ["Board", "Loop"]

Refuse = Callable[[DecodeError], None]


class Board(Protocol):
    """What takes in the scores."""

    def add(self, scored: Scored, slices: Any = None) -> None:
        """Take in some rows with what the model said of them."""


class Loop:
    """Runs one model over batches: each row is predicted, scored and then learned.

    Parameters
    ----------
    engine
        Runs the model.
    board
        Takes the scores.
    learn
        Whether to learn, or only to predict.
    delay
        Rows between a prediction and its label; 0 for none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.evaluate import Engine, Loop, RowBatch
    >>> from stream_maxloss.linear import Perceptron
    >>> class Mistakes:
    ...     count = 0
    ...     def add(self, scored, slices=None):
    ...         self.count += int((scored.y_pred != scored.y_true).sum())
    >>> loop = Loop(Engine(Perceptron()), Mistakes())
    >>> X, y = pa.table({"x": [1.0, -1.0, 1.0]}), [True, False, True]
    >>> batch, scored = loop.run(RowBatch(X, y))
    >>> loop.board.count, loop.learned
    (1, 3)

    """

    def __init__(self, engine: Engine, board: Board, *, learn: bool = True, delay: int = 0) -> None:
        if delay < 0:
            raise ValueError(f"delay must not be negative, got {delay!r}; 0 is for labels that come with their rows")
        self.engine = engine
        self.board = board
        self.learns = learn
        self.delayed = Delayed(engine, board, delay) if delay else None
        self.learned = 0

    def run(self, batch: RowBatch, refuse: Refuse | None = None) -> tuple[RowBatch, Scored]:
        """Predict, score and learn some rows; return those that the model took, with what it said of them.

        Parameters
        ----------
        batch
            The rows: all with labels, or all without, whose `y` is None. Those are predicted and not learned; see
            `RowBatch.runs`.
        refuse
            Called with each row that a model of ours refuses, which is then left out. None raises `RowError`.

        Raises
        ------
        ModelError
            If a model that is not ours raises an error, and `refuse` is given: without, that error is raised.

        """
        try:
            return self._run(batch, refuse)
        except StreamMaxlossError:
            raise
        except Exception as error:
            row = self.engine.busy_with
            if refuse is None or row is None or self.engine.is_native:
                raise
            name, told = type(self.engine.model).__name__, str(error) or "no reason given"
            raise ModelError(
                f"{batch.address(row)}: {name} must take the row, got {type(error).__name__} from it: {told}; "
                "correct the model, or leave out what it cannot take"
            ) from error

    def _run(self, batch: RowBatch, refuse: Refuse | None) -> tuple[RowBatch, Scored]:
        if self.delayed is not None:
            return self._run_delayed(self.delayed, batch, refuse)
        while True:
            try:
                scored = self._answer(batch)
                break
            except RowError as error:
                if refuse is None:
                    raise
                # The model is unchanged as long as it refuses a row. The address says which; its number within the
                # batch would only mislead.
                reason = error.reason.replace(f" of row {error.row}", "", 1)
                refuse(DecodeError(batch.address(error.row), reason))
                batch = batch.without([error.row])
        if batch.y is not None:
            self.board.add(scored if batch.said is None else said_at_first(scored, batch.said), batch.slices)
            self.learned += len(batch) if self.learns else 0
        return batch, scored

    def finish(self, refuse: Refuse | None = None) -> Iterator[None]:
        """Learn and score what still waits for its label, one row for each step of the iterator."""
        if self.delayed is not None:
            for _ in self.delayed.settle_all(refuse):
                self._count()
                yield

    def _answer(self, batch: RowBatch) -> Scored:
        if self.learns and batch.y is not None:
            return self.engine.learn(batch.X, batch.y, batch.w, batch.slices)
        return self.engine.predict(batch.X, batch.y)

    def _run_delayed(self, delayed: Delayed, batch: RowBatch, refuse: Refuse | None) -> tuple[RowBatch, Scored]:
        answers, refused = delayed.run(batch, refuse)
        self._count()
        batch = batch.without(refused) if refused else batch
        return batch, Scored(np.empty(0) if batch.y is None else batch.y, None, None, answers)

    def _count(self) -> None:
        if self.delayed is not None:
            self.learned += self.delayed.settled
            self.delayed.settled = 0


def said_at_first(scored: Scored, said: Iterable[dict[str, Any] | None]) -> Scored:
    """Return scores with the first answers where there are any.

    Parameters
    ----------
    scored
        What the model says now.
    said
        For each row None, or what was answered: `prediction`, and where the model has such `probability` (of True, or
        of the predicted class) and `probabilities` by the name of the class.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.evaluate.engine import Scored
    >>> from stream_maxloss.evaluate.loop import said_at_first
    >>> now = Scored([True, True], np.array([True, True]), np.array([0.75, 0.5]))
    >>> first = said_at_first(now, [{"prediction": False, "probability": 0.25}, None])
    >>> first.y_pred, first.probabilities
    (array([False,  True]), array([0.25, 0.5 ]))

    """
    known = [(row, found) for row, found in enumerate(said) if found is not None and found["prediction"] is not None]
    if not known:
        return scored
    if scored.answers is not None:
        answers = list(scored.answers)
        for row, found in known:
            answers[row] = as_answer(answers[row], found)
        return replace(scored, answers=answers)
    y_pred = None if scored.y_pred is None else np.array(scored.y_pred)
    shares = None if scored.probabilities is None else np.array(scored.probabilities)
    for row, found in known:
        if y_pred is not None:
            y_pred[row] = found["prediction"]
        if shares is not None and scored.classes is not None:
            named = found.get("probabilities") or {}
            shares[row] = [named.get(str(name), 0.0) for name in scored.classes]
        elif shares is not None and found.get("probability") is not None:
            shares[row] = found["probability"]
    return replace(scored, y_pred=y_pred, probabilities=shares)


def as_answer(now: Any, found: dict[str, Any]) -> Any:
    """Return the first answer in the form of the one of now: a label, or the probability of each."""
    if not isinstance(now, dict):
        return found["prediction"]
    if "probabilities" not in found:
        share = found.get("probability", float(bool(found["prediction"])))
        return {True: share, False: 1.0 - share}
    return {label: found["probabilities"].get(str(label), 0.0) for label in now}
