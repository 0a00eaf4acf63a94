"""Progressive validation: predict, score, learn."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stream_maxloss.evaluate.engine import Engine, Scored, is_frame
from stream_maxloss.labels import as_array
from stream_maxloss.linear.native import is_record_batch
from stream_maxloss.metrics import update_metric_many

__all__ = ["Progress", "progressive"]


@dataclass(frozen=True)
class Progress:
    """How it stands after some rows.

    Parameters
    ----------
    rows
        Rows scored so far.
    values
        Each metric's value at that moment, by name.
    seconds
        Time since the start.

    """

    rows: int
    values: dict[str, float]
    seconds: float


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
        `(X, y, {"w": ws})` for a frame `X` (Arrow, pandas, polars); a frame or an Arrow table by itself, with `target`.
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
    if delay < 0:
        raise ValueError(f"delay must not be negative, got {delay!r}; 0 is for labels that come with their rows")
    engine = Engine(model, labels=getattr(metric, "requires_labels", True))
    following = next_report(step)
    started = time.perf_counter()
    runner = Delayed(engine, metric, delay) if delay else None
    # With a delay, a row is scored when `delay` more have been asked about: `rows` counts those that are scored.
    rows, reported, report_at = -delay, -1, following(0)
    for X, y, w in pieces(stream, target, weight):
        first = 0
        while first < len(y):
            last = min(len(y), first + report_at - rows)
            part = slice(first, last)
            if runner is not None:
                rows_now = X if isinstance(X, list) else cut(X, first, last)
                runner.run(rows_now, y[part], None if w is None else w[part])
            else:
                run_piece(engine, metric, X, y, w, part)
            rows += last - first
            first = last
            if rows == report_at:
                yield Progress(rows, values_of(metric), time.perf_counter() - started)
                reported, report_at = rows, following(rows)
    if runner is not None:
        rows = max(rows, 0)
        for scored in runner.flush(rows):
            rows = scored
            if rows == report_at:
                yield Progress(rows, values_of(metric), time.perf_counter() - started)
                reported, report_at = rows, following(rows)
    if rows != reported:
        yield Progress(rows, values_of(metric), time.perf_counter() - started)


def next_report(step: int | Callable[[int], int] | None) -> Callable[[int], int]:
    """Return the function that gives the next row count to report at."""
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


def pieces(stream: Iterable[Any], target: str | None, weight: str | None) -> Iterator[tuple[Any, Any, Any]]:
    """Yield (X, y, w): a frame, or a list of one dict, with a column of labels and one of weights or None."""
    for item in stream:
        if is_frame(item):
            yield take_columns(item, target, weight)
            continue
        X, y, *rest = item
        extra = rest[0] if rest else {}
        if is_frame(X):
            w = extra.get("w")
            labels = as_array(y)
            yield X, labels, w if w is None else as_array(w) if not np.isscalar(w) else np.full(len(labels), w)
        else:
            yield [X], [y], [extra["w"]] if "w" in extra else None


def take_columns(frame: Any, target: str | None, weight: str | None) -> tuple[Any, Any, Any]:
    """Split a frame into features, labels and weights."""
    import pyarrow as pa

    if target is None:
        raise ValueError("target must name the label's column where the stream yields frames by themselves, got None")
    if hasattr(frame, "iloc"):
        # Without this, an index that is more than a count would become a feature.
        batch = pa.Table.from_pandas(frame, preserve_index=False)
    else:
        batch = frame if is_record_batch(frame) or isinstance(frame, pa.Table) else pa.table(frame)
    for name in (target, weight):
        if name is not None and name not in batch.schema.names:
            raise ValueError(
                f"target and weight must be columns, got {name!r}; choose from {', '.join(batch.schema.names)}"
            )
    kept = [name for name in batch.schema.names if name not in (target, weight)]
    w = None if weight is None else as_array(batch.column(weight))
    return batch.select(kept), as_array(batch.column(target)), w


def cut(X: Any, first: int, last: int) -> Any:
    """Return the rows `first..last` of a frame."""
    if hasattr(X, "iloc"):
        return X.iloc[first:last]
    return X.slice(first, last - first)


def run_piece(engine: Engine, metric: Any, X: Any, y: Any, w: Any, part: slice) -> None:
    """Predict, score and learn some rows."""
    if isinstance(X, list):
        x, label = X[0], y[0]
        answer = engine._ask(x)
        score_answer(metric, label, answer)
        engine.learn_row(x, label, None if w is None else w[0])
        return
    scored = engine.learn(cut(X, part.start, part.stop), y[part], None if w is None else w[part])
    update(metric, scored)


def update(metric: Any, scored: Scored) -> None:
    """Feed a batch of answers to the metric."""
    if scored.answers is None:
        update_metric_many(metric, scored.y_true, scored.y_pred, scored.probabilities)
        return
    for label, answer in zip(scored.y_true.tolist(), scored.answers, strict=True):
        score_answer(metric, label, answer)


def score_answer(metric: Any, label: Any, answer: Any) -> None:
    """Feed one answer to the metric; a model that had none yet is not scored, as in River."""
    if answer is not None and answer != {}:
        metric.update(y_true=label, y_pred=answer)


class Delayed:
    """Predicts rows now, and scores and learns each once `delay` more rows have come."""

    def __init__(self, engine: Engine, metric: Any, delay: int) -> None:
        self.engine = engine
        self.metric = metric
        self.delay = delay
        self.waiting: deque[tuple[Any, Any, Any, Any]] = deque()

    def run(self, X: Any, y: Any, w: Any) -> None:
        """Ask about some rows, each after the labels that are due by then have been learned."""
        from stream_maxloss.rows.dicts import frame_to_dicts

        rows = X if isinstance(X, list) else frame_to_dicts(X)
        labels = y if isinstance(y, list) else as_array(y).tolist()
        for row, x in enumerate(rows):
            if len(self.waiting) >= self.delay:
                self._answer()
            self.waiting.append((dict(x), labels[row], None if w is None else w[row], self.engine._ask(x)))

    def flush(self, rows: int) -> Iterator[int]:
        """Score and learn what is still waiting, one by one; yield the number of rows scored, `rows` at the start."""
        while self.waiting:
            self._answer()
            rows += 1
            yield rows

    def _answer(self) -> None:
        x, label, weight, answer = self.waiting.popleft()
        score_answer(self.metric, label, answer)
        self.engine.learn_row(x, label, None if weight is None else float(weight))
