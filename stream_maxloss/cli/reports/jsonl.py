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
    worst_interval  the 95 % interval of that value, or null where there is none
    rate_of_run  rows a second of this process's run, and run_rows its rows: those before a resume not included
    no_better    what does as well without the features, in one line, or null
    labels       of labels that come later: joined, waiting, early, expired, unknown, doubled; else absent
    alerts       conditions of --alert that hold, and have for long enough; absent where none does
    slices       on the last line: slice -> {"rows", metric: value}, the worst first; else absent
    rule         on the last line: how the worst slice is chosen
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TextIO

from stream_maxloss.cli.reports.base import Report

if TYPE_CHECKING:
    from stream_maxloss.evaluate import Progress

__all__ = ["JsonlReport"]

VERSION = 1


class JsonlReport(Report):
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
            record |= {"slices": slices["slices"], "rule": slices["rule"]}
        self._write(record)

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
        "worst_interval": progress.worst_interval,
        "run_rows": progress.run_rows,
        "rate_of_run": round(progress.rate, 1),
        "no_better": progress.no_better,
        **({"labels": progress.labels} if progress.labels else {}),
        **({"alerts": list(progress.alerts)} if progress.alerts else {}),
    }
