"""HAL: predict with the majority of the concepts that agree with the past."""

from __future__ import annotations

from collections import Counter
from typing import Any

from stream_maxloss.concepts.version_space import Label, VersionSpace

__all__ = ["Halving"]


class Halving(VersionSpace):
    """The halving learner, HAL: the vote of all concepts that are still consistent.

    At time t, C_t holds the concepts that agree with every row so far, and HAL predicts the majority of their
    answers. After a mistake the majority leaves, |C_{t+1}| <= |C_t| / 2, so HAL makes at most
    floor(log2 |C|) mistakes on a stream that some concept explains (lecture notes *Online Algorithms*, "HAL").
    With more than two labels the vote is a plurality and the bound stays: the right label had at most as many
    votes as the one elected, hence at most half of them. A tie goes to the answer of the earliest concept.

    Over a panel of frozen models, HAL is a streaming selector: it votes, and drops a model once it errs where
    another one of the panel is right. Real models all err sooner or later, so choose a tolerant
    `on_contradiction` there.

    Parameters
    ----------
    concepts, on_contradiction
        As for `Consistent`. A model that answers None has no vote, and disagrees with every label.

    Notes
    -----
    Learning and predicting ask every concept of C_t once. `predict_proba_one` is the share of the votes.

    Examples
    --------
    >>> from stream_maxloss.concepts import Halving, Stump
    >>> model = Halving([Stump("celsius", t) for t in range(64)])
    >>> for celsius in (32, 16, 24, 28, 30, 29):
    ...     model.learn_one({"celsius": celsius}, celsius >= 30)
    >>> model.predict_one({"celsius": 31}), model.alive, model.mistakes, model.mistake_bound
    (True, [30], 4, 6)

    A panel of frozen models, fitted on the first 500 rows, of which the rest of the stream strikes out the worst:

    >>> from river import datasets, linear_model, metrics, naive_bayes
    >>> rows = list(datasets.Phishing())
    >>> panel = [linear_model.LogisticRegression(), naive_bayes.GaussianNB()]
    >>> for x, y in rows[:500]:
    ...     for member in panel:
    ...         member.learn_one(x, y)
    >>> selector = Halving(panel, on_contradiction="keep")
    >>> accuracy = metrics.Accuracy()
    >>> for x, y in rows[500:]:
    ...     accuracy.update(y, selector.predict_one(x))
    ...     selector.learn_one(x, y)
    >>> accuracy, selector.alive
    (Accuracy: 89.73%, [1])

    """

    @property
    def mistake_bound(self) -> int:
        """floor(log2 |C|): no realisable stream makes HAL err more often."""
        return len(self.concepts).bit_length() - 1

    def _elect(self, answers: list[Label | None]) -> Label | None:
        votes = Counter(answer for answer in answers if answer is not None)
        return max(votes, key=votes.__getitem__, default=None)

    def predict_one(self, x: dict[Any, Any]) -> Label | None:
        """Return the label most of the consistent concepts give."""
        return self._elect(self._answers(x))

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[Label, float]:
        """Return each label's share of the votes; nothing if every concept abstains."""
        votes = Counter(answer for answer in self._answers(x) if answer is not None)
        shares = {label: count / votes.total() for label, count in votes.items()}
        return {**self._label_keys(*votes), **shares} if shares else {}
