"""Rows whose labels come later: predicted now, scored and learned when their time has come."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from stream_maxloss.rows.dicts import frame_to_dicts

if TYPE_CHECKING:
    from stream_maxloss.cli.row_feed import RowBatch
    from stream_maxloss.cli.scoreboard import Scoreboard
    from stream_maxloss.evaluate import Engine

__all__ = ["DelayedRows"]


class DelayedRows:
    """A queue of rows that were predicted and wait for their label.

    The order is that of River's delayed progressive validation: before a row is predicted, the row that came `delay`
    rows earlier is scored and learned.

    Parameters
    ----------
    engine
        Runs the model.
    board
        Takes the scores.
    delay
        Rows between a prediction and its label.

    """

    def __init__(self, engine: Engine, board: Scoreboard, delay: int) -> None:
        if delay < 1:
            raise ValueError(f"--delay must be at least 1 row, got {delay!r}; leave it out otherwise")
        self.engine = engine
        self.board = board
        self.delay = delay
        self.waiting: deque[tuple[dict[Any, Any], Any, float | None, Any, Any]] = deque()

    def run(self, batch: RowBatch) -> list[Any]:
        """Predict the rows of a batch, each after what is due by then was learned; return the answers."""
        answers = []
        labels = [] if batch.y is None else batch.y.tolist()
        for row, x in enumerate(frame_to_dicts(batch.X)):
            if len(self.waiting) >= self.delay:
                self.settle()
            answers.append(self.engine._ask(x))
            weight = None if batch.w is None else float(batch.w[row])
            value = None if batch.slices is None else batch.slices[row]
            self.waiting.append((dict(x), labels[row], weight, value, answers[-1]))
        return answers

    def settle(self) -> None:
        """Score and learn the row that waited longest."""
        x, label, weight, value, answer = self.waiting.popleft()
        self.board.add_row(label, answer, value)
        if weight is None:
            self.engine.model.learn_one(x, label)
        else:
            self.engine.model.learn_one(x, label, w=weight)

    def settle_all(self) -> None:
        """Score and learn all that still waits, at the end of the stream."""
        while self.waiting:
            self.settle()

    def state_dict(self) -> dict[str, Any]:
        """Return the queue as plain values."""
        return {
            "waiting": [
                [[list(item) for item in x.items()], label, weight, value, flatten(answer)]
                for x, label, weight, value, answer in self.waiting
            ]
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.waiting = deque(
            (dict(map(tuple, x)), label, weight, value, unflatten(answer))
            for x, label, weight, value, answer in state["waiting"]
        )


def flatten(answer: Any) -> Any:
    """Return an answer as JSON keeps it: a dict of probabilities as pairs."""
    return {"pairs": [list(item) for item in answer.items()]} if isinstance(answer, dict) else answer


def unflatten(answer: Any) -> Any:
    """Undo `flatten`."""
    return dict(map(tuple, answer["pairs"])) if isinstance(answer, dict) else answer
