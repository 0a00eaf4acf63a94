"""What happens to bad records while a batch is read, written down to happen again in the process that learns."""

from __future__ import annotations

from typing import Any

from stream_maxloss.errors import DecodeError, StreamMaxlossError
from stream_maxloss_connectors.bad_records import BadRecords

__all__ = ["RecordedBad", "error_from", "plain_error", "replay"]


class RecordedBad(BadRecords):
    """The policy of a run, in the process that reads: it decides alike, writes nothing, and notes what it was told."""

    def __init__(self, like: BadRecords) -> None:
        super().__init__("skip" if like.policy == "dlq" else like.policy, None, like.limit)
        self.count, self.seen = like.count, like.seen
        self._events: list[Any] = []

    def saw(self, records: int) -> None:
        """Count records that were looked at."""
        super().saw(records)
        self._events.append(records)

    def handle(self, error: DecodeError) -> None:
        """Treat one bad record by the policy."""
        self._events.append((error.address, error.reason, error.raw))
        super().handle(error)

    def take(self) -> list[Any]:
        """Return what was noted since the last call."""
        events, self._events = self._events, []
        return events


def replay(events: list[Any], bad: BadRecords) -> None:
    """Tell a policy what another was told; it may raise as that one did."""
    for event in events:
        if isinstance(event, int):
            bad.saw(event)
        else:
            bad.handle(DecodeError(*event))


def plain_error(error: BaseException) -> tuple[str, str]:
    """Return an error as plain values."""
    return type(error).__name__, str(error)


def error_from(found: tuple[str, str]) -> Exception:
    """Return an error like one of the other process; one that is not ours is shown with its kind."""
    from stream_maxloss import errors

    name, text = found
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, StreamMaxlossError) and name not in ("DecodeError", "RowError"):
        made = kind.__new__(kind)
        made.args = (text,)
        return made
    if name in ("ValueError", "TypeError"):
        return {"ValueError": ValueError, "TypeError": TypeError}[name](text)
    return RuntimeError(f"the process that reads failed: {name}: {text}")
