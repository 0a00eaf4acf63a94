"""Report that no broker answers, for how long, and that the reader waits."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

__all__ = ["Outage", "TopicWarning"]

# Seconds after which a lasting outage is said again: the last of them again and again.
_TELL_AFTER = (0.0, 10.0, 30.0, 60.0)


class TopicWarning(UserWarning):
    """Something happened to a topic or its brokers that the reader copes with."""


class Outage:
    """The time that no broker answers, said when it begins, while it lasts, and when it is over.

    librdkafka goes on trying by itself and delivers what was produced meanwhile, so an outage costs time and no rows:
    only that nothing comes has to be told from a topic that nobody writes to.

    Parameters
    ----------
    name
        What cannot be reached.
    clock
        Returns the seconds.

    Examples
    --------
    >>> import warnings
    >>> from stream_maxloss_connectors.kafka.outage import Outage
    >>> outage = Outage("orders", clock=lambda: 7.0)
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     outage.begin("connection refused")
    ...     outage.tell()
    ...     outage.end()
    >>> [str(warning.message) for warning in said][0]
    'orders: no broker has answered for 0 s (connection refused); waiting for one, nothing is lost'

    """

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = name
        self.since: float | None = None
        self._clock = clock
        self._reason = ""
        self._told = 0

    def begin(self, reason: str) -> None:
        """Note that no broker answers; nothing new if that is known."""
        self._reason = reason
        if self.since is None:
            self.since, self._told = self._clock(), 0

    def end(self) -> None:
        """Note that a broker answers."""
        if self.since is None:
            return
        seconds, told, self.since = self._clock() - self.since, self._told, None
        if told:
            self._warn(f"a broker answers again, after {seconds:.0f} s; going on")

    def tell(self) -> None:
        """Report it if it is new, or has not been reported for a while."""
        if self.since is None:
            return
        seconds = self._clock() - self.since
        if seconds >= self._due():
            self._told += 1
            self._warn(f"no broker has answered for {seconds:.0f} s ({self._reason}); waiting for one, nothing is lost")

    def _due(self) -> float:
        more = max(0, self._told - len(_TELL_AFTER) + 1)
        return _TELL_AFTER[min(self._told, len(_TELL_AFTER) - 1)] + more * _TELL_AFTER[-1]

    def _warn(self, message: str) -> None:
        warnings.warn(f"{self.name}: {message}", TopicWarning, stacklevel=2)
