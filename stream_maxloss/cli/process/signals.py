"""Signals as flags that the loop looks at between batches.

A handler that raises would cut a batch in two: rows read but not learned, with the position already behind them. So
handlers only take note, except for a second SIGINT, which leaves at once: the last checkpoint is what counts.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

from stream_maxloss.cli.exit_codes import DONE, INTERRUPTED
from stream_maxloss.run.requests import Requests

__all__ = ["SignalFlags"]

# Windows knows neither SIGHUP nor SIGUSR1.
STOPPING = tuple(number for name in ("SIGTERM", "SIGINT", "SIGHUP") if (number := getattr(signal, name, None)))
CHECKPOINT = getattr(signal, "SIGUSR1", None)


class SignalFlags(Requests):
    """What signals ask of a run; a context manager that puts the handlers back.

    SIGTERM and SIGHUP stop with exit code 0, SIGINT with 130; a second SIGINT ends the process at once with 130;
    SIGUSR1 asks for a checkpoint.

    Parameters
    ----------
    on_leave
        Called right before a second SIGINT ends the process, to leave the terminal in order.

    Examples
    --------
    >>> import signal
    >>> from stream_maxloss.cli.process.signals import SignalFlags
    >>> with SignalFlags() as flags:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     flags.stopped, flags.exit_code
    (True, 0)

    """

    def __init__(self, on_leave: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.on_leave = on_leave
        self.received: signal.Signals | None = None
        self._previous: dict[signal.Signals, Any] = {}

    @property
    def exit_code(self) -> int:
        """The exit code that the signal asks for."""
        return INTERRUPTED if self.received == signal.SIGINT else DONE

    def __enter__(self) -> Self:
        for number in (*STOPPING, *([] if CHECKPOINT is None else [CHECKPOINT])):
            self._previous[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)

    def _note(self, number: int, _: FrameType | None) -> None:
        if number == CHECKPOINT:
            self.checkpoint_wanted = True
        elif number == signal.SIGINT and self.received == signal.SIGINT:
            self.on_leave()
            os._exit(INTERRUPTED)
        else:
            self.received = signal.Signals(number)
            self.stopped = True
