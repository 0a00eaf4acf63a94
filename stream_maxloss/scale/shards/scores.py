"""The metrics of several shards added up to those of all their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.errors import UsageError
from stream_maxloss.metrics import metric_state
from stream_maxloss.state import join_parts, part_of

__all__ = ["add_states", "require_additive", "since"]

State = dict[str, Any]


def require_additive(metrics: Any) -> None:
    """Refuse metrics whose value over all rows cannot be had from those of the shards.

    Raises
    ------
    UsageError
        With the metric's name.

    """
    for metric in metrics:
        try:
            add_states([metric_state(metric)] * 2)
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(
                f"metric {type(metric).__name__} must be one that adds up over shards; use Accuracy, Recall, F1, "
                "LogLoss, ROCAUC, MAE, R2, MaxLoss or TailLoss"
            ) from error


def add_states(states: Sequence[State]) -> State:
    """Return the state of a metric that has seen the rows of several, from what `metric_state` says of them.

    Confusion matrices and histograms add up, averages weigh by their rows, a maximum is the greatest, and the variance
    below R2 is joined by the formula of Chan, Golub and LeVeque (1979).

    Raises
    ------
    ValueError
        If the metric is of a kind that does not add up, such as a rolling one.

    Examples
    --------
    >>> from river import metrics
    >>> from stream_maxloss.metrics import metric_state, restore_metric
    >>> from stream_maxloss.scale.shards.scores import add_states
    >>> first, second, both = metrics.MAE(), metrics.MAE(), metrics.MAE()
    >>> first.update(1.0, 2.0); second.update(1.0, 5.0); second.update(1.0, 5.0)
    >>> restore_metric(both, add_states([metric_state(first), metric_state(second)]))
    >>> both
    MAE: 3.

    """
    first = states[0]
    kinds = {state["type"] for state in states}
    if len(kinds) > 1:
        raise ValueError(f"states must be of one kind of metric, got {sorted(kinds)}")
    return {"type": first["type"], **_add(states)}


def _add(states: Sequence[State]) -> State:
    first = states[0]
    if "window" in first or "ring" in first:
        raise ValueError(f"{first['type']} looks back on its last rows, which differ from shard to shard")
    if "0.type" in first:
        numbers = sorted({name.split(".")[0] for name in first if name != "type"}, key=int)
        return join_parts({number: add_states([part_of(state, number) for state in states]) for number in numbers})
    if "cm.labels" in first:
        return join_parts({"cm": add_confusions([part_of(state, "cm") for state in states])})
    if "cms.0.labels" in first:
        numbers = sorted({name.split(".")[1] for name in first if name.startswith("cms.")}, key=int)
        parts = {f"cms.{n}": add_confusions([part_of(state, f"cms.{n}") for state in states]) for n in numbers}
        return join_parts(parts)
    if "mean" in first:
        return {"mean": add_means(np.array([state["mean"] for state in states], dtype=np.float64))}
    if set(first) - {"type"} == {"counts", "weights", "sums"}:
        return {name: np.sum([state[name] for state in states], axis=0) for name in ("counts", "weights", "sums")}
    if "worst" in first:
        return {"worst": np.max([state["worst"] for state in states], axis=0)}
    if "sums" in first:
        return {"sums": add_squares(np.array([state["sums"] for state in states], dtype=np.float64))}
    raise ValueError(f"{first['type']} is not known to add up")


def since(now: State, before: State | None) -> State | None:
    """Return the state of a metric over the rows since an earlier state of it; a maximum stays that of all rows.

    None where rows were taken back meanwhile, as when a shard goes on from its checkpoint.
    """
    if before is None:
        return now
    found = _add([now, {name: negative(name, value) for name, value in before.items()}])
    counted = [value for name, value in found.items() if name.rsplit(".", 1)[-1] in ADDED]
    counted += [value[:1] for name, value in found.items() if name.rsplit(".", 1)[-1] == "mean"]
    return None if any(np.min(value, initial=0.0) < -TINY for value in counted) else {"type": now["type"], **found}


ADDED = ("counts", "weights", "sums", "row_sums", "column_sums", "totals", "n_samples")
TINY = 1e-6
"""What rounding may leave of a sum from which all was taken away."""


def negative(name: str, value: Any) -> Any:
    """Return a part of a state such that adding it takes its rows away."""
    last = name.rsplit(".", 1)[-1]
    if last == "mean":
        return np.array([-value[0], value[1]])
    return -value if last in ADDED else value


def add_confusions(states: Sequence[State]) -> State:
    """Return the confusion matrix of all rows; a label that only some have seen counts nothing in the others."""
    labels = list(dict.fromkeys(label for state in states for label in state["labels"]))
    place = {label: i for i, label in enumerate(labels)}
    counts, row_sums, column_sums = np.zeros((len(labels), len(labels))), np.zeros(len(labels)), np.zeros(len(labels))
    for state in states:
        places = np.array([place[label] for label in state["labels"]], dtype=np.intp)
        if len(places):
            counts[np.ix_(places, places)] += state["counts"]
            row_sums[places] += state["row_sums"]
            column_sums[places] += state["column_sums"]
    return {
        "labels": labels,
        "counts": counts,
        "row_sums": row_sums,
        "column_sums": column_sums,
        "totals": np.sum([state["totals"] for state in states], axis=0),
        "n_samples": int(sum(state["n_samples"] for state in states)),
    }


def add_means(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weight and mean of all rows from those of the shards, one a line."""
    total = means[:, 0].sum()
    return np.array([total, (means[:, 0] @ means[:, 1]) / total if total else 0.0])


def add_squares(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return n, mean, sum of squares about it and of the residuals, from those of the shards, one a line."""
    n, mean, squares = 0.0, 0.0, 0.0
    for count, average, about in sums[:, :3]:
        if count:
            step = average - mean
            squares += about + step * step * n * count / (n + count)
            mean += step * count / (n + count)
            n += count
    return np.array([n, mean, squares, sums[:, 3].sum()])
