"""How a run stands after some rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Progress", "Scores"]


@dataclass(frozen=True)
class Scores:
    """The value of one metric.

    Parameters
    ----------
    total, since_last, baseline
        Over all rows, over those since the last report, and what the constant prediction scores over all rows.

    """

    total: float
    since_last: float
    baseline: float


@dataclass(frozen=True)
class Progress:
    """One moment of a run. `evaluate.progressive` fills in the first three fields, `run.Tail` all of them.

    Parameters
    ----------
    rows
        Rows so far.
    values
        The value of each metric over them, by name.
    seconds
        Time since the start of this process's run.
    learned, bad
        Rows learned, and records that were bad.
    rate, recent_rate
        Rows per second since the start, and since the last report.
    scores
        The metrics in full, by name.
    worst
        Name, rows and value of the worst slice, or None.
    worst_interval
        The 95 % interval of that value, or None.
    run_rows
        Rows of this process's run, those before a resume not included.
    no_better
        What does as well without the features, in one line; None where the model is better.
    labels
        Counts of labels that come later: `joined`, `waiting` rows, `early` labels, `expired` rows, `unknown` and
        `doubled` labels; empty where rows have their own.
    alerts
        Conditions that hold, and have for as long as they were to.
    lag, lag_unit
        What is known to be left.
    done
        Share of the source that was read, or None.
    positions
        Partition -> where reading stands, in short.
    checkpoint
        Number of the last checkpoint, or None.

    """

    rows: int
    values: dict[str, float]
    seconds: float
    learned: int = 0
    bad: int = 0
    rate: float = 0.0
    recent_rate: float = 0.0
    scores: dict[str, Scores] = field(default_factory=dict)
    worst: tuple[str, int, float] | None = None
    worst_interval: tuple[float, float] | None = None
    run_rows: int = 0
    no_better: str | None = None
    labels: dict[str, int] = field(default_factory=dict)
    alerts: tuple[str, ...] = ()
    lag: int | None = None
    lag_unit: str = "bytes"
    done: float | None = None
    positions: dict[str, Any] = field(default_factory=dict)
    checkpoint: int | None = None
