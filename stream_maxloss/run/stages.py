"""Several learners on one stream, each in a process of its own, fed with the same batches in shared memory.

A batch passes the stages in order, as it would pass the learners in one process: what one of them refuses, the next
ones do not get. Each stage works on another batch meanwhile, so as many cores are busy as there are stages.
"""

from __future__ import annotations

import os
import signal
import socket
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from stream_maxloss.errors import DecodeError, ModelError
from stream_maxloss.evaluate import RowBatch
from stream_maxloss_connectors.aside.wire import Wire, WireClosedError

__all__ = ["Learns", "Stage", "Stages", "can_fork"]

# Batches on their way, for each stage: one at work, one that waits.
DEPTH = 2


class Learns(Protocol):
    """What a stage runs."""

    def learn(self, batch: RowBatch, refuse: Callable[[DecodeError], None]) -> RowBatch:
        """Learn some rows; return them without those that are refused."""

    def mark(self) -> None:
        """Note how it stands."""

    def settle(self) -> Learns:
        """Return what is to be known of it at the end, as something that can be pickled."""


def can_fork() -> bool:
    """Return whether there are cores for it, and a system that copies a process."""
    return hasattr(os, "fork") and len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else [0]) > 1


class Stage:
    """A learner in a process of its own, from now on.

    Parameters
    ----------
    learner
        What learns: as it is now, with all that it has learned.
    others
        The stages before it. Its process must not hold on to their connections, or they would not notice that the
        first process is gone.

    """

    def __init__(self, learner: Any, others: Sequence[Stage] = ()) -> None:
        self.learner = learner
        self.wire: Wire
        ours, theirs = socket.socketpair()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: none of ours holds a lock here
            self.process = os.fork()
        if self.process == 0:
            ours.close()
            for other in others:
                other.wire.close()
            work(learner, Wire(theirs))
        theirs.close()
        self.wire = Wire(ours)

    def send(self, batch: RowBatch, marks: bool) -> None:
        """Hand over some rows."""
        values = {"y": batch.y, "w": batch.w, "slices": batch.slices, "marks": marks}
        try:
            self.wire.send(("learn", values), [batch.X])
        except WireClosedError as error:
            raise self._gone() from error

    def receive(self) -> dict[str, Any]:
        """Return what became of the rows that were handed over first."""
        try:
            told, _ = self.wire.receive()
        except WireClosedError as error:
            raise self._gone() from error
        return dict(told)

    def finish(self) -> Any:
        """Return what there is to know of the learner, and end its process."""
        try:
            self.wire.send(("finish", {}))
        except WireClosedError as error:
            raise self._gone() from error
        told = self.receive()
        if "failure" in told:
            raise RuntimeError(f"{told['failure']}")
        self.close()
        return told["learner"]

    def close(self) -> None:
        """End the process."""
        self.wire.close()
        if self.process:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
            self.process = 0

    def _gone(self) -> ModelError:
        return ModelError("the process of a model must stay alive, got its end; run again, perhaps with fewer models")


def work(learner: Any, wire: Wire) -> None:
    """Learn what comes until nobody is there any more; never returns."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the first process ends the others
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        while True:
            (kind, values), batches = wire.receive()
            if kind == "finish":
                wire.send({"learner": learner.settle()})
            else:
                wire.send(learn(learner, values, batches[0]))
    except WireClosedError:
        pass
    except BaseException as error:
        wire.send({"failure": f"{type(error).__name__}: {error}"})
    finally:
        os._exit(0)


def learn(learner: Any, values: dict[str, Any], X: Any) -> dict[str, Any]:
    """Learn some rows; return which were refused and why, or that no row can be learned any more."""
    refused: list[tuple[int, str]] = []
    batch = RowBatch(X, values["y"], values["w"], values["slices"], address=str)
    try:
        learner.learn(batch, lambda error: refused.append((int(error.address), error.reason)))
    except ModelError as error:
        return {"refused": [], "error": str(error)}
    if values["marks"]:
        learner.mark()
    return {"refused": refused, "error": None}


class Stages:
    """Learners one behind the other, each in a process of its own.

    Parameters
    ----------
    learners
        What learns, in order.
    refuse
        Called with each row that one of them refuses.
    drop
        Called with a learner that takes no row any more, and why; it may raise.

    """

    def __init__(
        self, learners: list[Any], refuse: Callable[[DecodeError], None], drop: Callable[[Any, ModelError], None]
    ) -> None:
        self.refuse = refuse
        self.drop = drop
        self.stages: list[Stage] = []
        for learner in learners:
            self.stages.append(Stage(learner, self.stages))
        self._waiting: list[deque[tuple[RowBatch, bool]]] = [deque() for _ in self.stages]

    def take(self, batch: RowBatch, marks: bool) -> None:
        """Hand over some rows, once the first learner has room for them."""
        while self.stages and len(self._waiting[0]) >= DEPTH:
            self._move(0)
        if self.stages:
            self._hand_over(0, batch, marks)

    def finish(self) -> list[Any]:
        """Let all rows pass, and return what there is to know of the learners."""
        while any(self._waiting):
            for place in range(len(self.stages)):
                while place < len(self.stages) and self._waiting[place]:
                    self._move(place)
        return [stage.finish() for stage in self.stages]

    def close(self) -> None:
        """End all processes."""
        for stage in self.stages:
            stage.close()

    def _hand_over(self, place: int, batch: RowBatch, marks: bool) -> None:
        self._waiting[place].append((batch, marks))
        self.stages[place].send(batch, marks)

    def _move(self, place: int) -> None:
        """Take the rows that a stage is done with, or will be, and hand them to the next."""
        stage = self.stages[place]
        told = stage.receive()
        if "failure" in told:
            raise RuntimeError(str(told["failure"]))
        batch, marks = self._waiting[place].popleft()
        if told["error"] is not None:
            self._leave_out(place, batch, marks, ModelError(restored(told["error"], batch)))
            return
        for row, reason in told["refused"]:
            self.refuse(DecodeError(batch.address(row), reason))
        if told["refused"]:
            batch = batch.without([row for row, _ in told["refused"]])
        self._pass_on(place + 1, batch, marks)

    def _pass_on(self, place: int, batch: RowBatch, marks: bool) -> None:
        if place < len(self.stages):
            while place < len(self.stages) and len(self._waiting[place]) >= DEPTH:
                self._move(place)
            if place < len(self.stages):
                self._hand_over(place, batch, marks)

    def _leave_out(self, place: int, batch: RowBatch, marks: bool, error: ModelError) -> None:
        """Go on without a stage: what waits for it goes to the next."""
        stage, waiting = self.stages.pop(place), self._waiting.pop(place)
        stage.close()
        self.drop(stage.learner, error)
        for part, is_marked in ((batch, marks), *waiting):
            self._pass_on(place, part, is_marked)


def restored(text: str, batch: RowBatch) -> str:
    """Return a message that begins with the number of a row with its address instead."""
    row, colon, rest = text.partition(":")
    return f"{batch.address(int(row))}:{rest}" if colon and row.isdigit() else text
