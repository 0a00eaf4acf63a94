"""Progressive validation: predict, score, learn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from stream_maxloss.evaluate.batch import RowBatch
from stream_maxloss.evaluate.engine import Engine, Scored, as_list
from stream_maxloss.evaluate.loop import Loop
from stream_maxloss.evaluate.progress import Progress
from stream_maxloss.labels import as_array
from stream_maxloss.linear.native import is_record_batch
from stream_maxloss.metrics import update_metric_many
from stream_maxloss.rows.frame import to_table

__all__ = ["progressive"]


def progressive(
    stream: Iterable[Any],
    model: Any,
    metric: Any,
    *,
    target: str | None = None,
    weight: str | None = None,
    step: int | Callable[[int], int] | None = None,
    delay: int = 0,
) -> Iterator[Progress]:
    """Predict each row, score the prediction, then learn the row; yield progress on the way.

    The results are those of `river.evaluate.progressive_val_score`. For our learners, bare, focused or behind
    `Scaler() |`, a batch runs in one kernel; other models run row by row.

    Parameters
    ----------
    stream
        Yields any of: `(x, y)` or `(x, y, {"w": w})` for a dict `x`, as River's streams do; `(X, y)` or
        `(X, y, {"w": ws})` for a frame `X` (Arrow, pandas, polars, DuckDB); a frame by itself, with `target`. One frame
        may stand for the whole stream.
    model
        Any River classifier or regressor.
    metric
        A River metric, or a sum of them. It is updated in place.
    target
        Name of the label's column, where the stream yields frames by themselves.
    weight
        Name of the column of sample weights, likewise.
    step
        Yield progress every so many rows, or a function that gives for each row count the next one to report at (for
        instance `lambda rows: 2 * rows`). Batches are cut there. None reports only at the end.
    delay
        A row's label comes after that many further rows: it is predicted now, and scored and learned then.

    Yields
    ------
    Progress
        At the chosen steps, and at the end.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from river import metrics
    >>> from stream_maxloss import evaluate, linear
    >>> batch = pa.table({"x": [1.0, -1.0] * 50, "label": [True, False] * 50})
    >>> for progress in evaluate.progressive([batch], linear.Perceptron(), metrics.Accuracy(), target="label", step=50):
    ...     print(progress.rows, progress.values)
    50 {'Accuracy': 0.98}
    100 {'Accuracy': 0.99}

    """
    if not metric.works_with(model):
        raise ValueError(f"{type(metric).__name__} cannot score {model}; choose a metric for its kind of answer")
    loop = Loop(Engine(model, labels=getattr(metric, "requires_labels", True)), MetricBoard(metric), delay=delay)
    report = Reporter(metric, next_report(step))
    # With a delay, a row is scored when `delay` more have been predicted: `rows` counts those that are scored.
    rows = -delay
    for batch in batches(stream, target, weight):
        first = 0
        while first < len(batch):
            last = min(len(batch), first + report.due_at - rows)
            loop.run(batch.part(first, last))
            rows += last - first
            first = last
            yield from report.at(rows)
    rows = max(rows, 0)
    for _ in loop.finish():
        rows += 1
        yield from report.at(rows)
    yield from report.end(rows)


class Reporter:
    """Measures a metric when a report is due."""

    def __init__(self, metric: Any, following: Callable[[int], int]) -> None:
        self.metric = metric
        self.following = following
        self.due_at = following(0)
        self._reported = -1
        self._started = time.perf_counter()

    def at(self, rows: int) -> Iterator[Progress]:
        """Yield progress if a report is due at a row count."""
        if rows == self.due_at:
            yield from self.end(rows)
            self.due_at = self.following(rows)

    def end(self, rows: int) -> Iterator[Progress]:
        """Yield progress unless the last report was at this row count."""
        if rows != self._reported:
            yield Progress(rows, values_of(self.metric), time.perf_counter() - self._started)
            self._reported = rows


def next_report(step: int | Callable[[int], int] | None) -> Callable[[int], int]:
    """Return the function from a row count to the next one to report at."""
    if step is None:
        return lambda rows: 1 << 62
    if callable(step):
        return lambda rows: max(rows + 1, step(rows))
    if step < 1:
        raise ValueError(f"step must be at least 1, got {step!r}; use None to report only at the end")
    return lambda rows: rows + step


def values_of(metric: Any) -> dict[str, float]:
    """Return the value of each part of a metric, by class name."""
    parts = metric.data if hasattr(metric, "data") and isinstance(metric.data, list) else [metric]
    return {type(part).__name__: part.get() for part in parts}


def batches(stream: Iterable[Any], target: str | None, weight: str | None) -> Iterator[RowBatch]:
    """Yield what a stream gives as batches, one of a single row for a dict."""
    if isinstance(stream, str | bytes | dict):
        raise TypeError(
            f"stream must yield rows or frames, got {stream!r:.80}; stream_maxloss.run.Tail reads files, "
            "iter_batches of stream_maxloss_connectors yields their rows"
        )
    for item in [stream] if is_frame(stream) else stream:
        if is_frame(item):
            yield take_columns(item, target, weight)
            continue
        if not isinstance(item, tuple | list) or len(item) not in (2, 3):
            raise TypeError(
                f"stream must yield (x, y), (x, y, {{'w': w}}) or frames, got {item!r:.80}; "
                "put row and label in a tuple"
            )
        X, y, *rest = item
        extra = rest[0] if rest else {}
        if is_frame(X):
            w, labels = extra.get("w"), as_array(y)
            yield RowBatch(
                X, labels, w if w is None else as_array(w) if not np.isscalar(w) else np.full(len(labels), w)
            )
        else:
            yield RowBatch([X], [y], [extra["w"]] if "w" in extra else None)


def is_frame(batch: Any) -> bool:
    """Return whether something is a frame of many rows rather than one row."""
    return is_record_batch(batch) or (not isinstance(batch, dict) and hasattr(batch, "columns"))


def take_columns(frame: Any, target: str | None, weight: str | None) -> RowBatch:
    """Split a frame into features, labels and weights."""
    import pyarrow as pa

    if target is None:
        raise ValueError("target must name the label's column where the stream yields frames by themselves, got None")
    if hasattr(frame, "iloc"):
        # Without this, an index that is more than a count would become a feature.
        batch = pa.Table.from_pandas(frame, preserve_index=False)
    else:
        batch = frame if is_record_batch(frame) or isinstance(frame, pa.Table) else to_table(frame)
    for name in (target, weight):
        if name is not None and name not in batch.schema.names:
            raise ValueError(
                f"target and weight must be columns, got {name!r}; choose from {', '.join(batch.schema.names)}"
            )
    kept = [name for name in batch.schema.names if name not in (target, weight)]
    w = None if weight is None else as_array(batch.column(weight))
    return RowBatch(batch.select(kept), as_array(batch.column(target)), w)


class MetricBoard:
    """Feeds answers to one River metric; a model that had none yet is not scored, as in River."""

    def __init__(self, metric: Any) -> None:
        self.metric = metric

    def add(self, scored: Scored, slices: Any = None) -> None:
        """Take in a batch of rows."""
        if scored.answers is None:
            update_metric_many(self.metric, np.asarray(scored.y_true), scored.y_pred, scored.probabilities)
            return
        for label, answer in zip(as_list(scored.y_true), scored.answers, strict=True):
            if answer is not None and answer != {}:
                self.metric.update(y_true=label, y_pred=answer)
