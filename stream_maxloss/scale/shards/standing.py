"""How a shard stands, and how all of them do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stream_maxloss.evaluate import Progress, Scores
from stream_maxloss.metrics import SliceReport, restore_metric
from stream_maxloss.metrics.standing import value_of
from stream_maxloss.run.metrics import make_metrics, metric_names
from stream_maxloss.run.progress import worst_interval, worst_slice
from stream_maxloss.scale.shards.keys import shared_keys
from stream_maxloss.scale.shards.scores import add_states, since
from stream_maxloss.state import join_parts, part_of

if TYPE_CHECKING:
    from stream_maxloss.scale.shards.job import Job

__all__ = ["Merged", "Standing", "merge_standings"]


@dataclass(frozen=True)
class Standing:
    """How one shard stands, in plain values.

    Parameters
    ----------
    name
        The shard.
    rows, learned, bad, run_rows
        Rows read in all and learned, bad records, and rows since this process took the shard over.
    lag, lag_unit
        What is known to be left.
    positions
        Where its reading stands.
    checkpoint
        Number of its last checkpoint.
    finished
        Whether it has come to its end.
    board
        What `Scoreboard.totals` returns.
    keys
        Its sample of keys.
    error, error_kind
        What has ended it: a line, and the name of the error's class.
    retries, trouble
        How often it was started again because its source or its sink failed, and what was said last.

    """

    name: str
    rows: int = 0
    learned: int = 0
    bad: int = 0
    run_rows: int = 0
    lag: int | None = None
    lag_unit: str = "records"
    positions: dict[str, Any] = field(default_factory=dict)
    checkpoint: int | None = None
    finished: bool = False
    board: dict[str, Any] | None = None
    keys: dict[str, Any] | None = None
    error: str | None = None
    error_kind: str | None = None
    retries: int = 0
    trouble: str | None = None


@dataclass(frozen=True)
class Merged:
    """How all shards stand together.

    Parameters
    ----------
    progress
        Rows, scores, slices of all of them.
    slices
        The report by slice, as `SliceReport.get` gives it, or None.
    report
        The same, to be shown as a table, or None.
    total
        The state of the metrics over all rows, or None before the first.
    shared
        Keys that more than one shard has seen, with the names of those shards.

    """

    progress: Progress
    slices: dict[str, Any] | None
    report: SliceReport | None
    total: dict[str, Any] | None
    shared: dict[str, list[str]]


def merge_standings(
    job: Job,
    standings: Sequence[Standing],
    seconds: float,
    run_rows: int,
    recent: float,
    before: dict[str, Any] | None = None,
) -> Merged:
    """Return how all shards stand together.

    Parameters
    ----------
    job
        What they are shards of.
    standings
        How each stands.
    seconds
        Time since the start.
    run_rows, recent
        Rows since then, and rows a second since the last report.
    before
        `Merged.total` of the last report, or None.

    """
    boards = [standing.board for standing in standings if standing.board is not None]
    blank = make_metrics(job.options.get("metrics"), job.model)
    total = add_states([board["total"] for board in boards]) if boards else None
    scores = merge_scores(blank, boards, total, before)
    report = None if job.roles.slice_by is None else merge_slices(blank, job.roles.slice_by, boards)
    slices = None if report is None else report.get()
    samples = [standing for standing in standings if standing.keys is not None]
    shared = shared_keys([standing.keys or {} for standing in samples])
    lags = [standing.lag for standing in standings]
    progress = Progress(
        rows=sum(standing.rows for standing in standings),
        values={name: score.total for name, score in scores.items()},
        seconds=seconds,
        learned=sum(standing.learned for standing in standings),
        bad=sum(standing.bad for standing in standings),
        rate=run_rows / max(seconds, 1e-9),
        recent_rate=recent,
        scores=scores,
        worst=worst_slice(slices),
        worst_interval=worst_interval(slices),
        run_rows=run_rows,
        lag=None if any(lag is None for lag in lags) else sum(lag or 0 for lag in lags),
        lag_unit=standings[0].lag_unit if standings else "records",
        positions={standing.name: standing.positions for standing in standings},
    )
    return Merged(
        progress, slices, report, total, {key: [samples[i].name for i in where] for key, where in shared.items()}
    )


def merge_scores(
    blank: Any, boards: Sequence[dict[str, Any]], total: dict[str, Any] | None, before: dict[str, Any] | None
) -> dict[str, Scores]:
    """Return the metrics over all rows, over those since an earlier state, and of the constant prediction."""
    states = [total, total, None]
    if total is not None:
        states = [total, since(total, before), add_states([board["constant"] for board in boards])]
    found = [_values(blank, state) for state in states]
    return {name: Scores(*values) for name, *values in zip(metric_names(blank), *found, strict=True)}


def _values(blank: Any, state: dict[str, Any] | None) -> list[float]:
    if state is None:
        return [math.nan for _ in blank]
    metrics = blank.clone()
    restore_metric(metrics, state)
    return [value_of(metric) for metric in metrics]


def merge_slices(blank: Any, by: str, boards: Sequence[dict[str, Any]]) -> SliceReport:
    """Return the report by slice of all rows."""
    report = SliceReport(blank, by)
    states = [board["slices"] for board in boards]
    if not states:
        return report
    parts: dict[str, list[dict[str, Any]]] = {}
    rows: dict[str, int] = {}
    for state in states:
        for place, name in enumerate(state["names"]):
            parts.setdefault(name, []).append(part_of(state, str(place)))
            rows[name] = rows.get(name, 0) + int(state["rows"][place])
    joined = {"overall": add_states([part_of(state, "overall") for state in states])}
    joined |= {str(place): add_states(found) for place, found in enumerate(parts.values())}
    report.load_state_dict({"names": list(parts), "rows": list(rows.values()), **join_parts(joined)})
    return report
