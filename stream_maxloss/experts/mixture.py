"""`Mixture`: several classifiers, weighed by their likelihood."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_maxloss.classes import Classes
from stream_maxloss.described import ArrayOf, check_state
from stream_maxloss.experts.opinions import (
    check_experts,
    expert_name,
    learn_weighed,
    said_of_row,
    said_of_rows,
    seen_before,
)
from stream_maxloss.experts.sharing import mix_rows
from stream_maxloss.linear.batch_checks import row_weights
from stream_maxloss.linear.native import native_frame, native_series
from stream_maxloss.protocol import Answers
from stream_maxloss.rows.dicts import frame_to_dicts
from stream_maxloss.state import join_parts, part_of

__all__ = ["Mixture"]

Floats = NDArray[np.float64]
# Entries of the history of weights: between half as many and as many.
HISTORY = 1024


class Mixture(base.MiniBatchClassifier):
    r"""Predicts with the average of several classifiers, in which those weigh most that predicted best.

    With weights $\pi_k$ and the probabilities $p_k$ of the experts,

    $$p = \sum_k \pi_k p_k, \qquad \pi_k \leftarrow (1 - a) \frac{\pi_k p_k(y)}{p(y)} + \frac{a}{K},$$

    so the log loss exceeds that of the best expert by at most ln K and what the share a costs, and that of the best
    sequence of experts by ln(K/a) a switch: `stream_maxloss.experts.sharing.regret_bound` states it. Each expert learns
    every row, whatever its weight. What an expert holds for impossible it is given a millionth for, so that one wrong
    row does not silence it.

    Parameters
    ----------
    experts
        River classifiers with probabilities, ours among them, or pipelines that end in one. They are copied; the copies
        learn.
    share
        Share a of the weight that is spread evenly after each row, in [0, 1). Raising it follows changes sooner, and
        costs more where nothing changes.

    Raises
    ------
    TypeError
        If an expert is no classifier with probabilities.

    Notes
    -----
    A row costs what it costs the experts, and a few operations for each expert and class. If all experts are native,
    each takes a batch as a whole, and the weights follow in one pass: the same bits as row by row. A sample weight w
    counts the likelihood w times; the bound is for weights up to 1. A row that one expert refuses when it is to predict
    is learned by none.

    References
    ----------
    Mark Herbster and Manfred Warmuth. Tracking the best expert. Machine Learning 32, 1998.

    Yishay Mansour. Online learning, lecture notes: regret minimization, the best expert problem.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, naive_bayes
    >>> from stream_maxloss import Logistic, Mixture, Scaler
    >>> steps = [Scaler() | Logistic(lr=lr) for lr in (0.01, 0.1, 1.0)]
    >>> model = Mixture([*steps, naive_bayes.GaussianNB()])
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.LogLoss())
    LogLoss: 0.2...
    >>> max(model.weights(), key=model.weights().get)
    'Scaler | Logistic 3'

    """

    def __init__(self, experts: Sequence[Any], share: float = 1e-3) -> None:
        check_experts(experts)
        if not 0.0 <= share < 1.0:
            raise ValueError(f"share must lie in [0, 1), got {share!r}; 0.001 is a good start")
        self.experts = list(experts)
        self.share = share
        self._experts = copy.deepcopy(self.experts)
        self._classes = Classes()
        self._prior = np.full(len(self.experts), 1.0 / len(self.experts))
        # Rows so far, rows between two entries of the history, entries.
        self._clock = np.array([0, 1, 0], dtype=np.int64)
        self._history = np.zeros((HISTORY, len(self.experts)))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from stream_maxloss.linear import Logistic, Scaler

        yield {"experts": [Logistic(), Scaler() | Logistic(schedule="constant")]}

    @property
    def _multiclass(self) -> bool:
        return all(expert._multiclass for expert in self._experts)

    @property
    def is_native(self) -> bool:
        """Whether whole batches run in kernels: if they do for every expert."""
        return all(getattr(expert, "is_native", False) for expert in self._experts)

    @property
    def memory_bytes(self) -> int:
        """Bytes held by the experts that tell, and by the weights."""
        own = int(self._history.nbytes + self._prior.nbytes)
        return own + sum(int(getattr(expert, "memory_bytes", 0)) for expert in self._experts)

    @property
    def classes(self) -> list[Hashable]:
        """Labels in the order in which they were first seen."""
        return self._classes.labels

    @property
    def n_rows(self) -> int:
        """Number of rows learned."""
        return int(self._clock[0])

    def names(self) -> list[str]:
        """Return the names of the experts: their classes, numbered where they are the same."""
        names = [expert_name(expert) for expert in self.experts]
        twins, seen = Counter(names), Counter[str]()
        for place, name in enumerate(names):
            seen[name] += 1
            names[place] = f"{name} {seen[name]}" if twins[name] > 1 else name
        return names

    def weights(self) -> dict[str, float]:
        """Return the weight of every expert: what the stream has chosen so far."""
        return dict(zip(self.names(), self._prior.tolist(), strict=True))

    def history(self) -> tuple[NDArray[np.int64], Floats]:
        """Return some row counts, evenly spread and at most 1,024, and the weights (one column an expert) after them.

        Examples
        --------
        >>> from stream_maxloss import HingeOGD, Logistic, Mixture
        >>> model = Mixture([Logistic(), HingeOGD()])
        >>> for row in range(3000):
        ...     model.learn_one({"size": row % 7}, row % 7 > 3)
        >>> rows, weights = model.history()
        >>> rows[-1].item(), weights.shape
        (3000, (750, 2))

        """
        _, every, entries = self._clock.tolist()
        return every * np.arange(1, entries + 1), self._history[:entries].copy()

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Weigh the experts by what they say of a row, then let all of them learn it.

        Raises
        ------
        ValueError
            If the label is missing, an expert cannot predict the row, or `w` is not positive. Nothing is then learned.

        """
        weights = row_weights(w, 1)
        said = self._ask(x)
        known = len(self._classes)
        number = self._classes.add(y)
        try:
            self._check_label(y)
            for expert in self._experts:
                learn_weighed(expert, x, y, w)
        except Exception:
            self._classes.truncate(known)
            raise
        self._mix(said, np.array([known]), np.array([number]), weights)

    def _check_label(self, y: Any) -> None:
        """Refuse a third class before an expert for two does, which others would have learned by then."""
        if len(self._classes) > 2 and not self._multiclass:
            names = [name for name, one in zip(self.names(), self._experts, strict=True) if not one._multiclass]
            raise ValueError(f"label must be one of two, got {y!r}; {', '.join(names)} cannot learn more: leave it out")

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a frame, one after another. `w` is one weight for all or one per row."""
        if self.is_native:
            self.answer_learn_many(X, y, w)
            return
        labels = list(y)
        for x, label, weight in zip(frame_to_dicts(X), labels, row_weights(w, len(labels)).tolist(), strict=True):
            self.learn_one(x, label, weight)

    def answer_learn_many(self, X: Any, y: Any, w: Any = 1.0) -> Answers:
        """Predict each row of a frame, then learn it; return what was said before. All experts must be native.

        Raises
        ------
        RowError
            If a row is refused. None of the rows is then learned.

        """
        known = len(self._classes)
        numbers, _ = self._classes.add_many(y)
        # A batch that a later expert refuses must not have been learned by those before it.
        before = [copy.deepcopy(expert.__dict__) for expert in self._experts[:-1]]
        try:
            self._check_label(self.classes[-1] if self.classes else None)
            weights = row_weights(w, len(numbers))
            answers = [expert.answer_learn_many(X, y, w) for expert in self._experts]
        except Exception:
            self._classes.truncate(known)
            for expert, state in zip(self._experts, before, strict=False):
                expert.__dict__.clear()
                expert.__dict__.update(state)
            raise
        counts = seen_before(numbers.astype(np.int64), known, self._classes)
        said = said_of_rows(answers, len(numbers), counts, self._classes)
        return self._answers(self._mix(said, counts, numbers.astype(np.int64), weights))

    def answer_many(self, X: Any) -> Answers:
        """Predict every row of a frame and learn nothing. All experts must be native."""
        return self._answers(self._mixed_many(X))

    def _mixed_many(self, X: Any) -> Floats:
        if not self.is_native:
            return np.concatenate([np.empty((0, len(self._classes))), *map(self._mixed_one, frame_to_dicts(X))])
        answers = [expert.answer_many(X) for expert in self._experts]
        counts = np.full(len(answers[0].labels), len(self._classes))
        return self._mix(said_of_rows(answers, len(counts), counts, self._classes), counts)

    def _ask(self, x: dict[Hashable, Any]) -> Floats:
        return said_of_row([expert.predict_proba_one(x) for expert in self._experts], self._classes)

    def _mixed_one(self, x: dict[Hashable, Any]) -> Floats:
        return self._mix(self._ask(x), np.array([len(self._classes)]))

    def _mix(
        self, said: Floats, counts: NDArray[np.int64], numbers: Any = None, weights: Floats | None = None
    ) -> Floats:
        """Return the mixture of each row; with the numbers of the classes that they had, weigh the experts."""
        mixed = np.empty((said.shape[0], said.shape[2]))
        numbers = np.full(len(said), -1) if numbers is None else numbers
        weights = np.ones(len(said)) if weights is None else weights
        mix_rows(said, counts, numbers, weights, self._prior, self.share, self._clock, self._history, mixed)
        return mixed

    def _answers(self, mixed: Floats) -> Answers:
        classes = self._classes
        if classes.is_binary or not len(classes):
            if len(classes) < 2:
                # The one that came is certain, but of the first row of all nothing is said.
                certain = mixed.sum(axis=1) if classes.labels == [1] else 1.0 - mixed.sum(axis=1)
                return Answers(certain > 0.5, certain)
            positive = classes.positive
            return Answers(mixed.argmax(axis=1) == positive, mixed[:, positive].copy())
        return Answers(classes.name(mixed.argmax(axis=1)), mixed, tuple(classes.labels))

    def predict_proba_one(self, x: dict[Hashable, Any]) -> dict[Hashable, float]:
        """Return the probability of each class seen so far."""
        if len(self._classes) < 2:
            # As River has it, a classifier that knows no more than two labels knows them from the start.
            is_new = not len(self._classes) and not self._multiclass
            return {False: 0.5, True: 0.5} if is_new else dict.fromkeys(self._classes.labels, 1.0)
        return dict(zip(self._classes.labels, self._mixed_one(x)[0].tolist(), strict=True))

    def predict_one(self, x: dict[Hashable, Any]) -> Any:
        """Return the likeliest class; None before the first row."""
        labels = self._classes.labels
        return labels[self._mixed_one(x)[0].argmax()] if labels else None

    def predict_many(self, X: Any) -> Any:
        """Return a series of labels like `X`: pandas for pandas, Arrow for Arrow, and so on."""
        mixed = self._mixed_many(X)
        if not len(self._classes):
            return native_series(np.full(len(mixed), None, dtype=object), X)
        return native_series(self._classes.name(mixed.argmax(axis=1)), X)

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame like `X` with a column for each class (as text where names must be text)."""
        mixed = self._mixed_many(X)
        return native_frame({label: mixed[:, k].copy() for k, label in enumerate(self.classes)}, X)

    def state_dict(self) -> dict[str, Any]:
        """Return the weights and the classes, as arrays and JSON; what the experts learned is no part of it."""
        own = {"prior": self._prior.copy(), "clock": self._clock.copy(), "history": self._history.copy()}
        return {**own, **join_parts({"classes": self._classes.state_dict()})}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` of a mixture of as many experts returned.

        Raises
        ------
        ValueError
            If the state does not fit. The mixture is then unchanged.

        """
        expected = {
            "prior": ArrayOf("float64", (len(self._prior),), low=0.0),
            "clock": ArrayOf("int64", (3,), low=0),
            "history": ArrayOf("float64", self._history.shape, low=0.0),
        }
        check_state({key: state[key] for key in expected}, expected)
        rows, every, entries = state["clock"].tolist()
        if not (every >= 1 and entries <= HISTORY and entries <= rows):
            raise ValueError(f"clock must count rows and entries of the history, got {state['clock'].tolist()}")
        classes = Classes()
        classes.load_state_dict(part_of(state, "classes"))
        self._classes = classes
        self._prior, self._clock, self._history = (np.array(state[key]) for key in expected)
