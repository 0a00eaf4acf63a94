"""How the margins of the last rows are spread: the curves of Holland's Figure 2."""

from __future__ import annotations

import dataclasses

import numpy as np

from stream_maxloss.metrics.margin_metric import MarginMetric
from stream_maxloss.metrics.ring import Ring

__all__ = ["MarginDistribution", "MarginSummary"]


@dataclasses.dataclass(frozen=True)
class MarginSummary:
    """Location statistics of some margins; all 0 where there are none.

    Parameters
    ----------
    n_rows
        How many margins are summarised.
    mean, q25, median, q75
        Their mean and quartiles, the quartiles interpolated linearly.
    least
        The smallest margin: the worst row.
    wrong
        The share of margins below 0: of rows on the wrong side.

    """

    n_rows: int
    mean: float
    q25: float
    median: float
    q75: float
    least: float
    wrong: float

    def to_dict(self) -> dict[str, float]:
        """Return the fields as a plain dict."""
        return dataclasses.asdict(self)


class MarginDistribution(MarginMetric):
    """Mean, median and quartiles of the margins of the last `window_size` rows, exactly.

    Figure 2 of Holland's *Classification using margin pursuit* draws these four over the course of learning; here they
    are read off at any moment. A good margin distribution is one whose lower quartile, not only its mean, is positive,
    and whose quartiles are close together.

    Parameters
    ----------
    window_size
        How many rows are looked back on. Each costs 16 bytes, and `get` sorts them.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, preprocessing
    >>> from stream_maxloss.metrics import MarginDistribution

    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, MarginDistribution(window_size=500))
    MarginDistribution: mean 1.979, median 2.145, quartiles 1.195 to 2.969, least -3.211, wrong 9.40% of 500 rows

    """

    def __init__(self, window_size: int = 1000) -> None:
        super().__init__(Ring(window_size))
        self.window_size = window_size

    def get(self) -> MarginSummary:
        """Return the summary of the window."""
        margins = self._store.values()
        if margins.size == 0:
            return MarginSummary(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        q25, median, q75 = np.quantile(margins, (0.25, 0.5, 0.75)).tolist()
        wrong = float(np.mean(margins < 0.0))
        return MarginSummary(margins.size, float(margins.mean()), q25, median, q75, float(margins.min()), wrong)

    @property
    def bigger_is_better(self) -> bool:
        """Raise: a distribution has no order."""
        raise NotImplementedError("a margin distribution has no order; compare one of its fields")

    def __repr__(self) -> str:
        summary = self.get()
        return (
            f"{type(self).__name__}: mean {summary.mean:.3f}, median {summary.median:.3f}, "
            f"quartiles {summary.q25:.3f} to {summary.q75:.3f}, least {summary.least:.3f}, "
            f"wrong {summary.wrong:.2%} of {summary.n_rows:,} rows"
        )
