"""Progress as JSON lines, one object a report.

The schema is stable: `v` is its version, and grows if a field changes its meaning or goes. New fields may come.

    v            1
    event        "progress", or "end" for the last line
    ts           seconds since 1970
    rows         rows read in all, those before a resume included
    learned      rows learned
    bad          records that were bad
    metric       metric -> {"total", "since_last", "baseline"}; null where it is no number
    rate         rows a second since the last line
    lag          what is known to be left, in lag_unit; null where it cannot be known
    positions    partition -> where reading stands
    ckpt         number of the last checkpoint, or null
    worst_slice  {"name", "rows", "value"}, or null
    slices       on the last line: slice -> {"rows", metric: value}; else absent
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from stream_maxloss.cli.progress import Progress

__all__ = ["JsonlReport"]

VERSION = 1


class JsonlReport:
    """Writes a JSON object a line.

    Parameters
    ----------
    stream
        Where to write to.

    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def report(self, progress: Progress) -> None:
        """Write one line."""
        self._write(as_json(progress, "progress"))

    def finish(self, progress: Progress, slices: dict[str, Any] | None) -> None:
        """Write the last line."""
        record = as_json(progress, "end")
        if slices is not None:
            record["slices"] = slices["slices"]
        self._write(record)

    def tick(self, progress: object) -> None:
        """Do nothing between two reports."""

    def close(self) -> None:
        """Do nothing."""

    def _write(self, record: dict[str, Any]) -> None:
        import orjson

        self.stream.write(orjson.dumps(record, option=orjson.OPT_NON_STR_KEYS).decode() + "\n")
        self.stream.flush()


def as_json(progress: Progress, event: str) -> dict[str, Any]:
    """Return a report as JSON-able data."""
    worst = progress.worst
    return {
        "v": VERSION,
        "event": event,
        "ts": round(time.time(), 3),
        "rows": progress.rows,
        "learned": progress.learned,
        "bad": progress.bad,
        "metric": {name: vars(scores) for name, scores in progress.scores.items()},
        "rate": round(progress.recent_rate, 1),
        "lag": progress.lag,
        "lag_unit": progress.lag_unit,
        "positions": progress.positions,
        "ckpt": progress.checkpoint,
        "worst_slice": None if worst is None else {"name": worst[0], "rows": worst[1], "value": worst[2]},
    }
