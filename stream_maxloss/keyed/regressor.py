"""`KeyedRegressor`: a regressor for each key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from river import base

from stream_maxloss.keyed.keyed import MEMORY, Keyed
from stream_maxloss.keyed.opinions import NumberOpinions, Opinions
from stream_maxloss.linear.grouped import linear_parts
from stream_maxloss.linear.native import native_series

__all__ = ["KeyedRegressor"]


class KeyedRegressor(Keyed, base.MiniBatchRegressor):
    """One regressor for each value of a column: what `KeyedClassifier` is for labels.

    Parameters
    ----------
    regressor
        What a new key begins with: a copy of this model with what it has learned. A trained one is a shared prior.
    key
        Name of the column. Its value is text, a number or a boolean; models do not see it. A row without is refused.
    memory
        Bytes of models to hold in memory; the others lie in files.

    Examples
    --------
    >>> from stream_maxloss import AbsoluteOGD, KeyedRegressor
    >>> model = KeyedRegressor(AbsoluteOGD(), key="sensor")
    >>> for _ in range(200):
    ...     model.learn_one({"sensor": 1, "load": 1.0}, 3.0)
    ...     model.learn_one({"sensor": 2, "load": 1.0}, -3.0)
    >>> round(model.predict_one({"sensor": 1, "load": 1.0})), round(model.predict_one({"sensor": 2, "load": 1.0}))
    (3, -3)

    """

    _template_name = "regressor"

    def __init__(self, regressor: base.Regressor, key: str, memory: int = MEMORY) -> None:
        self.regressor = regressor
        self.key = key
        self.memory = memory
        self._begin()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from stream_maxloss.linear import AbsoluteOGD

        yield {"regressor": AbsoluteOGD(), "key": "key"}

    @property
    def template(self) -> Any:
        """The model that a new key begins with a copy of."""
        return self.regressor

    def _opinions(self, rows: int) -> Opinions:
        parts = linear_parts(self.regressor)
        return NumberOpinions(rows, None if parts is None else parts[1]._answers_of)

    def predict_many(self, X: Any) -> Any:
        """Return a series of predictions like `X`: pandas for pandas, Arrow for Arrow, and so on."""
        return native_series(self.answer_many(X).labels, X)
