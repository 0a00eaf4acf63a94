"""`AutoClassifier`: the classifier without knobs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_maxloss.classes import Classes
from stream_maxloss.linear.batch_checks import row_weights
from stream_maxloss.linear.native import native_frame, native_series
from stream_maxloss.mixture.auto import Auto
from stream_maxloss.mixture.model import alone
from stream_maxloss.mixture.reasons import Reason
from stream_maxloss.mixture.stepping import CLASSES
from stream_maxloss.protocol import Answers
from stream_maxloss.state import join_parts, part_of

__all__ = ["AutoClassifier"]


class AutoClassifier(Auto, base.MiniBatchClassifier):
    """Classifier for any stream, with nothing to choose: calibrated probabilities, two classes or many.

    Sixteen linear experts see each row in four groups of features: scaled values, quantile bins, the leaves of random
    decision ferns, and of ferns that are taught on a window of the last rows by boosting. They differ in their groups
    and steps; half of them replay hard rows of the window (the game of `FocusedClassifier`). Two stacks combine them,
    a mixture weighs experts, stacks and a constant by their likelihood, and shares where it was wrong,

        p = sum_k pi_k p_k,    pi_k <- (1 - a) pi_k p_k(y) / p(y) + a q_k,    a = .003 (1 - p(y)),

    and a table calibrates the outcome. On any stretch of the stream the log loss of the mixture exceeds that of the
    best expert there by little (`stream_maxloss.mixture.mixing` states the bound): whether to use leaves, replays,
    large or small steps is settled by the stream.

    Labels may be anything hashable, and new ones may appear at any time. Numbers and booleans are features by name, a
    text value `v` of `c` is the feature `c=v`, and None and NaN mean that it is absent. Nothing has to be scaled.

    Parameters
    ----------
    memory
        Rows that are kept to be replayed and learned from anew. More helps where rare rows matter, and costs memory.
    compute
        `"least"` for bare experts without replays and lessons, `"normal"`, or `"most"`: more and deeper ferns, twice
        the replays, more lessons.
    objective
        By which rows the experts are weighed: `"mean"` by all, `"tail"` by the hardest tenth, `"max"` by the hardest
        hundredth. The last two pay with the mean for the worst rows.
    seed
        Seed of all draws; None for a new one each time.

    Notes
    -----
    `learn_many` is `learn_one` row by row, to the bit. The cost of a row grows with its active features and
    not with the length of the stream. Memory is bounded: for eight experts at most 64 MiB of raw columns and 64 MiB of
    leaves, and the window.

    References
    ----------
    Mark Herbster and Manfred Warmuth. Tracking the best expert. Machine Learning 32, 1998.

    John Duchi, Elad Hazan and Yoram Singer. Adaptive subgradient methods. JMLR 12, 2011.

    Shai Shalev-Shwartz and Yonatan Wexler. Minimizing the maximal loss: how and why? ICML 2016.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_maxloss.mixture import AutoClassifier
    >>> evaluate.progressive_val_score(datasets.Phishing(), AutoClassifier(seed=1), metrics.Accuracy())
    Accuracy: 91...%
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), AutoClassifier(seed=1), metrics.Accuracy())
    Accuracy: 95...%

    """

    def __init__(
        self, memory: int = 10_000, compute: str = "normal", seed: int | None = None, objective: str = "mean"
    ) -> None:
        self.memory = memory
        self.compute = compute
        self.seed = seed
        self.objective = objective
        self._classes = Classes()
        self._model = self._make_model(CLASSES)

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def classes(self) -> list[Hashable]:
        """Labels in the order in which they were first seen."""
        return self._classes.labels

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn one row. `w` scales its update.

        Raises
        ------
        ValueError
            If the label is missing, a value is infinite or `w` is not positive. The model is then unchanged.

        """
        if not 0.0 < w < math.inf:
            raise ValueError(f"w must be positive and finite, got {w!r}; leave out rows that should not count")
        model, classes = self._model, self._classes
        with model.lock:
            known = len(classes.labels)
            number = classes.add(y)
            try:
                model.read_one(x, learn=True)
            except Exception:
                classes.truncate(known)
                raise
            if classes.outputs != model.memory.outputs:
                model.add_outputs(classes.outputs)
            model.learn_one(float(number), w)

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a frame, one after another. `w` is one weight for all or one per row.

        Raises
        ------
        ValueError
            If a row is refused. None of the rows is then learned.

        """
        self._learn_many(X, y, w)

    @alone
    def answer_learn_many(self, X: Any, y: Any, w: Any = 1.0) -> Answers:
        """Predict each row of a frame, then learn it, row after row; return what was said before learning it.

        A class that comes for the first time in this batch has the probability 0 until then.

        Raises
        ------
        RowError
            If a row is refused. None of the rows is then learned.

        """
        return self._answers(self._learn_many(X, y, w))

    @alone
    def answer_many(self, X: Any) -> Answers:
        """Predict every row of a frame and learn nothing."""
        return self._answers(self._model.answer_many(X))

    def _answers(self, said: NDArray[np.float64]) -> Answers:
        classes = self._classes
        if classes.is_binary or not len(classes):
            positive = said[:, classes.positive].copy() if len(classes) else np.full(len(said), 0.5)
            return Answers(positive > 0.5, positive)
        said = np.ones((len(said), 1)) if len(classes) == 1 else said
        return Answers(self._labels_of(said), said, tuple(classes.labels))

    @alone
    def _learn_many(self, X: Any, y: Any, w: Any) -> NDArray[np.float64]:
        """Learn the rows of a frame and return the probabilities that each class had before."""
        known, columns = len(self._classes), len(self._model.features)
        numbers, outputs = self._classes.add_many(y)
        try:
            weights = row_weights(w, len(numbers))
            batch = self._model.read_many(X, learn=True)
            return self._model.learn_many(batch, numbers, weights, outputs)
        except ValueError:
            self._classes.truncate(known)
            self._model.features.truncate(columns)
            raise

    @alone
    def predict_proba_one(self, x: dict[Hashable, Any]) -> dict[Hashable, float]:
        """Return the probability of each class seen so far."""
        labels = self._classes.labels
        if len(labels) < 2:
            return dict.fromkeys(labels, 1.0)
        return dict(zip(labels, self._model.answer_one(x)[0].tolist(), strict=True))

    def predict_one(self, x: dict[Hashable, Any]) -> Any:
        """Return the likeliest class; None before the first row."""
        model = self._model
        with model.lock:
            labels = self._classes.labels
            if len(labels) < 2:
                return labels[0] if labels else None
            answers = model.answer_one(x)
            if len(labels) == 2:
                return labels[answers.item(1) > answers.item(0)]
            return labels[answers.argmax()]

    @alone
    def predict_many(self, X: Any) -> Any:
        """Return a series of labels like `X`: pandas for pandas, Arrow for Arrow, and so on."""
        answers = self._answer_many(X)
        if answers.shape[1] == 0:
            return native_series(np.full(len(answers), None, dtype=object), X)
        return native_series(self._labels_of(answers), X)

    @alone
    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame like `X` with a column for each class (as text where names must be text)."""
        answers = self._answer_many(X)
        return native_frame({label: answers[:, k].copy() for k, label in enumerate(self.classes)}, X)

    def _answer_many(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class seen so far, for each row of a frame."""
        answers = self._model.answer_many(X)
        if len(self._classes) < 2:
            return np.ones((len(answers), len(self._classes)))
        return answers

    def _labels_of(self, answers: NDArray[np.float64]) -> NDArray[Any]:
        labels = self.classes
        if all(isinstance(label, bool) for label in labels):
            return np.array(labels, dtype=np.bool_)[answers.argmax(axis=1)]
        if all(isinstance(label, int) for label in labels):
            return np.array(labels, dtype=np.int64)[answers.argmax(axis=1)]
        named = np.empty(len(labels), dtype=object)
        named[:] = labels
        picked: NDArray[Any] = named[answers.argmax(axis=1)]
        return picked

    @alone
    def explain_one(self, x: dict[Hashable, Any], label: Any = None) -> list[Reason]:
        """Return what speaks for a class, the strongest first: values and leaves, in log-odds.

        Parameters
        ----------
        x
            A row.
        label
            The class; the likeliest by default.

        Examples
        --------
        >>> import random
        >>> from stream_maxloss.mixture import AutoClassifier
        >>> model, draw = AutoClassifier(seed=1), random.Random(1)
        >>> for _ in range(2000):
        ...     row = {"bytes": draw.randrange(400), "service": draw.choice(["ftp", "http"]), "flag": draw.random()}
        ...     model.learn_one(row, row["bytes"] > 220 and row["service"] == "ftp")
        >>> row = {"bytes": 300, "service": "ftp", "flag": 0.5}
        >>> any("bytes >" in reason.condition for reason in model.explain_one(row)[:10])
        True

        """
        labels = self._classes.labels
        if len(labels) < 2:
            return []
        label = self.predict_one(x) if label is None else label
        if label not in labels:
            raise ValueError(f"label must be a class seen so far, one of {labels!r:.200}, got {label!r}")
        number = labels.index(label)
        reasons = self._model.explain_one(x, number if len(labels) > 2 else 0)
        if len(labels) == 2 and number == 0:
            return [Reason(reason.condition, -reason.contribution) for reason in reasons]
        return reasons

    def _judge(self, target: float, answers: NDArray[np.float64]) -> tuple[Any, float, int, float]:
        number, is_binary = int(target), self._model.memory.outputs == 1
        sign = -1.0 if is_binary and number == 0 else 1.0
        return self.classes[number], float(1.0 - answers[number]), 0 if is_binary else number, sign

    def debug_one(self, x: dict[Hashable, Any], limit: int = 10) -> str:
        """Return the prediction for a row and its strongest reasons, as text."""
        reasons = self.explain_one(x)[:limit]
        head = ", ".join(f"{label!r} {p:.3f}" for label, p in self.predict_proba_one(x).items())
        return "\n".join([head, *(f"{reason.contribution:+9.3f}  {reason.condition}" for reason in reasons)])

    def state_dict(self) -> dict[str, Any]:
        """Return everything that was learned, as arrays and JSON."""
        return {**self._model.state_dict(), **join_parts({"classes": self._classes.state_dict()})}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` of a classifier with the same parameters returned.

        Raises
        ------
        KeyError
            If something is missing.
        ValueError
            If the state does not fit. The classifier is then unchanged.

        """
        classes = Classes()
        classes.load_state_dict(part_of(state, "classes"))
        scores = state["raw"].shape[2] if getattr(state["raw"], "ndim", 0) == 4 else 0
        targets = state["kept_target"]
        seen = int(np.max(targets, initial=-1)) + 1 if getattr(targets, "dtype", None) == np.float64 else 0
        if scores != classes.outputs or seen > len(classes):
            raise ValueError(
                f"labels must be those of {scores} scores and {seen} classes or more, got {classes.labels}"
            )
        self._model.load_state_dict(state)
        self._classes = classes
