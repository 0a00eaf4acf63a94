"""The mean of the worst share of the losses, of a stream and of its last rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.machine.compiled import kept
from stream_maxloss.metrics.loss_metric import LossMetric, checked_loss, checked_weight
from stream_maxloss.metrics.ring import Ring
from stream_maxloss.metrics.row_loss import RowLoss

__all__ = ["RollingTailLoss", "TailLoss"]


@kept()
def add_in_order(
    counts: NDArray[np.int64],
    totals: NDArray[np.float64],
    sums: NDArray[np.float64],
    losses: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
) -> None:
    """Add losses in [0, 1] to their bins, one after the other: summed apart first, they would round differently."""
    last = len(counts) - 1
    for row in range(len(losses)):
        slot = min(int(losses[row] * len(counts)), last)
        weight = 1.0
        if weights is not None:
            weight = weights[row]
        counts[slot] += 1
        totals[slot] += weight
        sums[slot] += weight * losses[row]


def tail_mean(losses: NDArray[np.float64], weights: NDArray[np.float64], alpha: float) -> float:
    """Return the mean of the worst share `alpha` of the losses by weight: the conditional value at risk.

    The row on the border counts in part, so that the rows taken weigh `alpha` of the total. No weight gives 0.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.metrics.tail_loss import tail_mean
    >>> tail_mean(np.array([0.0, 1.0, 0.5, 0.1]), np.ones(4), alpha=0.5)
    0.75

    """
    order = np.argsort(-losses, kind="stable")
    return _worst(weights[order], (weights * losses)[order], alpha)


def _worst(weights: NDArray[np.float64], sums: NDArray[np.float64], alpha: float) -> float:
    """Return the mean over the first share `alpha` of groups ordered from the worst to the best."""
    reached = np.cumsum(weights)
    if reached.size == 0 or reached[-1] <= 0.0:
        return 0.0
    wanted = alpha * reached[-1]
    border = int(np.searchsorted(reached, wanted))  # the first group with which the share is full
    before = reached[border - 1] if border else 0.0
    part = (wanted - before) * (sums[border] / weights[border])
    return float(min((sums[:border].sum() + part) / wanted, 1.0))


class LossHistogram:
    """Count, weight and sum of the losses in each of `bins` equal bins of [0, 1].

    Memory is 24 bytes a bin whatever the length of the stream; rows can be taken back, and two histograms added. The
    tail mean is too low by at most `1 / bins`.
    """

    def __init__(self, bins: int) -> None:
        if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 2:
            raise ValueError(f"bins must be a whole number of at least 2, got {bins!r}; the error is at most 1 / bins")
        self._counts = np.zeros(bins, dtype=np.int64)
        self._weights = np.zeros(bins)
        self._sums = np.zeros(bins)

    def push(self, value: float, weight: float) -> None:
        """Take in one loss."""
        slot = self._bin(value)
        self._counts[slot] += 1
        self._weights[slot] += weight
        self._sums[slot] += weight * value

    def push_many(self, values: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> None:
        """Take in losses in order, so that sums round as they do one at a time. Without weights all are 1."""
        add_in_order(self._counts, self._weights, self._sums, values, weights)

    def remove(self, loss: float, weight: float) -> None:
        """Take one loss back."""
        slot = self._bin(loss)
        if self._counts[slot] == 0:
            raise ValueError(f"loss must have been counted before, got {loss!r}; revert only rows that were updated")
        self._counts[slot] -= 1
        # An empty bin is set to zero: what rounding leaves there would weigh in for ever.
        empty = self._counts[slot] == 0
        self._weights[slot] = 0.0 if empty else self._weights[slot] - weight
        self._sums[slot] = 0.0 if empty else self._sums[slot] - weight * loss

    def merge(self, other: LossHistogram) -> None:
        """Add the rows of another histogram with as many bins."""
        if other._counts.size != self._counts.size:
            raise ValueError(f"bins must be {self._counts.size} on both sides, got {other._counts.size!r}; rebuild one")
        self._counts += other._counts
        self._weights += other._weights
        self._sums += other._sums

    def tail_mean(self, alpha: float) -> float:
        """Return the mean of the worst share `alpha`: exact but for the bin on the border, which counts at its mean."""
        filled = np.flatnonzero(self._weights > 0.0)[::-1]
        return _worst(self._weights[filled], self._sums[filled], alpha)

    def state_dict(self) -> dict[str, Any]:
        """Return copies of the three arrays."""
        return {"counts": self._counts.copy(), "weights": self._weights.copy(), "sums": self._sums.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Replace the three arrays."""
        if len(state["counts"]) != self._counts.size:
            raise ValueError(f"state must hold {self._counts.size} bins, got {len(state['counts'])}; use the same bins")
        self._counts = np.array(state["counts"], dtype=np.int64)
        self._weights = np.array(state["weights"], dtype=np.float64)
        self._sums = np.array(state["sums"], dtype=np.float64)

    def _bin(self, loss: float) -> int:
        return min(int(loss * self._counts.size), self._counts.size - 1)


class TailLoss(LossMetric):
    """The mean of the worst share `alpha` of all losses so far: their conditional value at risk.

    It lies between the mean loss (`alpha=1`) and the greatest (`alpha` to 0), and unlike the greatest is not decided by
    a single row. The share is one of weight, and the row on its border counts in part; with equal weights and a
    whole `alpha * n` it is the plain mean of the worst `alpha * n` losses. Before any row it is 0.

    Parameters
    ----------
    alpha
        The share, in (0, 1]. Lowering it looks only at worse rows.
    loss
        What a row costs, as in `MaxLoss`.
    bins
        Number of bins of [0, 1] in which the losses are counted. The value is too low by at most `1 / bins`,
        and never too high.

    Notes
    -----
    A row outside the worst share can enter it later, as the share grows with the stream, so an exact value
    needs every loss ever seen. Instead each of `bins` equal bins keeps the count, the weight and the exact sum of
    its losses (24 bytes a bin, whatever the length of the stream). Only the bin on the border is not known in full:
    the part of it that is needed is taken at the mean of the bin. Where the losses in that bin are all equal, as
    zero-one losses are, the value is exact. `revert` takes a row back under the same bound, so
    `river.utils.Rolling(TailLoss, window_size=...)` works; `RollingTailLoss` is exact.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, preprocessing
    >>> from stream_maxloss.metrics import TailLoss

    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, TailLoss(alpha=0.05))
    TailLoss: 0.7321

    """

    _store: LossHistogram

    def __init__(self, alpha: float = 0.05, loss: RowLoss | None = None, bins: int = 4096) -> None:
        super().__init__(loss, LossHistogram(bins))
        self.alpha = _checked_alpha(alpha)
        self.bins = bins

    def revert(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Take one row back."""
        self._store.remove(checked_loss(self.loss(y_true, y_pred)), checked_weight(w))

    def merge(self, other: TailLoss) -> None:
        """Add the rows that another metric with as many bins has seen."""
        self._store.merge(other._store)

    def get(self) -> float:
        """Return the mean of the worst share."""
        return self._store.tail_mean(self.alpha)


class RollingTailLoss(LossMetric):
    """The mean of the worst share `alpha` of the last `window_size` losses, exactly.

    Parameters
    ----------
    alpha
        The share, in (0, 1], as in `TailLoss`.
    window_size
        How many rows are looked back on. Each costs 16 bytes, and `get` sorts them.
    loss
        What a row costs, as in `MaxLoss`.

    Examples
    --------
    >>> from stream_maxloss.metrics import RollingTailLoss

    >>> metric = RollingTailLoss(alpha=0.5, window_size=4)
    >>> metric.update_many([1.0, 0.0, 0.25, 0.5, 0.75])
    >>> metric
    RollingTailLoss: 0.625

    """

    _store: Ring

    def __init__(self, alpha: float = 0.05, window_size: int = 1000, loss: RowLoss | None = None) -> None:
        super().__init__(loss, Ring(window_size))
        self.alpha = _checked_alpha(alpha)
        self.window_size = window_size

    def get(self) -> float:
        """Return the mean of the worst share of the window."""
        return tail_mean(self._store.values(), self._store.weights(), self.alpha)


def _checked_alpha(alpha: float) -> float:
    if not 0.0 < alpha <= 1.0:
        raise ValueError(f"alpha must be in (0, 1], got {alpha!r}; 0.05 asks for the worst 5 % of the rows")
    return alpha
