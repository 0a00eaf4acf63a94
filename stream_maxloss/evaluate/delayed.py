"""Rows whose labels come later: predicted now, learned and scored when their time has come."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from stream_maxloss.described import check_name
from stream_maxloss.errors import DecodeError
from stream_maxloss.evaluate.engine import Engine, Scored

if TYPE_CHECKING:
    from stream_maxloss.evaluate.batch import RowBatch
    from stream_maxloss.evaluate.loop import Board

__all__ = ["Delayed"]

Refuse = Callable[[DecodeError], None]


class Delayed:
    """A queue of rows that were predicted and wait for their label.

    The order is that of River's delayed progressive validation: before a row is predicted, the row that came `delay`
    rows earlier is learned and scored.

    Parameters
    ----------
    engine
        Runs the model.
    board
        Takes the scores.
    delay
        Rows between a prediction and its label.

    """

    def __init__(self, engine: Engine, board: Board, delay: int) -> None:
        self.engine = engine
        self.board = board
        self.delay = delay
        self.settled = 0
        self.waiting: deque[tuple[dict[Any, Any], Any, float | None, Any, Any]] = deque()

    def run(self, batch: RowBatch, refuse: Refuse | None) -> tuple[list[Any], list[int]]:
        """Predict the rows of a batch, each after what is due by then was learned.

        Returns
        -------
        answers, refused
            What the model said of each row it took, and the numbers of the rows that it refused.

        """
        answers: list[Any] = []
        refused: list[int] = []
        labels = [None] * len(batch) if batch.y is None else batch.y if isinstance(batch.y, list) else batch.y.tolist()
        for row, x in enumerate(self.engine.dicts_of(batch.X)):
            self.engine.busy_with = row
            if len(self.waiting) >= self.delay:
                self.settle(refuse)
            weight = None if batch.w is None else float(batch.w[row])
            try:
                self._require_weight(weight)
                answer = self.engine.ask(x)
            except ValueError as error:
                self._handle(error, refuse, batch.address(row))
                refused.append(row)
                continue
            answers.append(answer)
            value = None if batch.slices is None else batch.slices[row]
            self.waiting.append((dict(x), labels[row], weight, value, answer))
        self.engine.busy_with = None
        return answers, refused

    def settle(self, refuse: Refuse | None = None) -> None:
        """Learn and score the row that waited longest."""
        x, label, weight, value, answer = self.waiting.popleft()
        if label is None:  # it had none to wait for
            return
        try:
            self.engine.learn_row(x, label, weight, value)
        except ValueError as error:
            self._handle(error, refuse, "a row that waited for its label")
            return
        self.settled += 1
        self.board.add(Scored([label], None, None, [answer]), [value])

    def settle_all(self, refuse: Refuse | None = None) -> Iterator[None]:
        """Learn and score all that still waits, at the end of the stream, one row for each step of the iterator."""
        while self.waiting:
            self.settle(refuse)
            yield

    def _require_weight(self, weight: float | None) -> None:
        bad = weight is not None and not (weight > 0.0 and math.isfinite(weight))
        if bad and self.engine.is_native:
            raise ValueError(f"w must be positive and finite, got {weight!r}; leave the row out")

    def _handle(self, error: ValueError, refuse: Refuse | None, address: str) -> None:
        if refuse is None or not self.engine.is_native:
            raise error
        refuse(DecodeError(address, str(error)))

    def state_dict(self) -> dict[str, Any]:
        """Return the queue as plain values."""
        return {
            "waiting": [
                [[list(item) for item in x.items()], label, weight, value, flatten(answer)]
                for x, label, weight, value, answer in self.waiting
            ]
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` returned.

        Raises
        ------
        ValueError
            If it is not a queue of rows.

        """
        self.waiting = deque(map(waiting_row, state["waiting"]))


def flatten(answer: Any) -> Any:
    """Return an answer as JSON keeps it: a dict of probabilities as pairs."""
    return {"pairs": [list(item) for item in answer.items()]} if isinstance(answer, dict) else answer


def unflatten(answer: Any) -> Any:
    """Undo `flatten`."""
    return {check_name(label): float(p) for label, p in answer["pairs"]} if isinstance(answer, dict) else answer


def waiting_row(entry: Any) -> tuple[dict[Any, Any], Any, float | None, Any, Any]:
    """Return a row of the queue from its plain values, each of a kind that a row can have."""
    x, label, weight, value, answer = entry
    answer = unflatten(answer)
    row = {check_name(name): check_name(number) for name, number in x}
    if weight is not None and not isinstance(weight, float):
        raise ValueError(f"the weight of a waiting row must be a number, got {weight!r:.80}")
    for told in (label, answer):
        if isinstance(told, float) and not math.isfinite(told):
            raise ValueError(f"the label of a waiting row, and what was said of it, must be finite, got {told}")
    return row, check_name(label), weight, check_name(value), answer if isinstance(answer, dict) else check_name(answer)
