"""Any classifier made conservative: it learns from its mistakes only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from river import base

from stream_maxloss.concepts.version_space import Label, plain_label

__all__ = ["Conservative", "is_mistake"]


class Conservative(base.Wrapper, base.Classifier):
    """Feed a classifier only the rows it gets wrong.

    A conservative learner changes its hypothesis only after a mistake: h_{t+1} = h_t whenever
    h_t(x_t) = c*(x_t). Any algorithm A becomes one, A', by passing on to A just the rows that A' errs on (the
    sequence ER of the lecture notes *Online Algorithms*, "Conservative Online Algorithm"). If A' errs M times,
    A errs M times on ER, so the mistake bound of A holds for A' unchanged. `OnlineToPAC` builds on this.

    Learning costs one prediction a row, and an update only on mistakes: on an easy stream most rows are cheap.
    What it gives up is everything a model learns from rows it already gets right, such as calibrated
    probabilities.

    Parameters
    ----------
    model
        Any River classifier, binary or multiclass. A pipeline learns from mistakes as a whole, its scalers
        included; to let a scaler see every row, put it in front: `Scaler() | Conservative(model)`.

    Examples
    --------
    >>> from river import datasets, linear_model, metrics
    >>> from stream_maxloss.concepts import Conservative
    >>> model = Conservative(linear_model.LogisticRegression())
    >>> accuracy = metrics.Accuracy()
    >>> for x, y in datasets.Phishing():
    ...     accuracy.update(y, model.predict_one(x))
    ...     model.learn_one(x, y)
    >>> accuracy
    Accuracy: 83.44%
    >>> model.mistakes
    207

    """

    def __init__(self, model: base.Classifier) -> None:
        if not isinstance(model, base.Classifier):
            raise TypeError(f"model must be a River classifier, got {model!r}; a mistake is a wrong label")
        self.model = model
        self._n_rows = 0
        self._n_mistakes = 0

    @property
    def _wrapped_model(self) -> base.Classifier:
        return self.model

    @property
    def mistakes(self) -> int:
        """Rows the model got wrong, which are the rows it learned from."""
        return self._n_mistakes

    @property
    def rows(self) -> int:
        """Rows seen, right or wrong."""
        return self._n_rows

    def learn_one(self, x: dict[Any, Any], y: Label, **kwargs: Any) -> None:
        """Pass the row on if the model gets it wrong."""
        self._n_rows += 1
        if is_mistake(self.model.predict_one(x), y):
            self._n_mistakes += 1
            self.model.learn_one(x, y, **kwargs)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Label | None:
        """Return the model's label."""
        return self.model.predict_one(x, **kwargs)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Label, float]:
        """Return the model's probabilities."""
        return self.model.predict_proba_one(x, **kwargs)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model, naive_bayes

        yield {"model": linear_model.LogisticRegression()}
        yield {"model": naive_bayes.GaussianNB()}


def is_mistake(prediction: Label | None, label: Label) -> bool:
    """Return whether a prediction misses the label; no prediction at all is a mistake too."""
    prediction, label = plain_label(prediction), plain_label(label)
    if isinstance(prediction, bool) and not isinstance(label, bool) and label == -1:
        # Binary models that take -1/+1 answer with a boolean.
        return prediction
    return prediction != label
