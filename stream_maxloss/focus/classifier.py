"""The focused classifier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base, compose

from stream_maxloss.focus import arrays
from stream_maxloss.focus.admission import Admission
from stream_maxloss.focus.focused import Focused, checked_loss, predicts_probabilities
from stream_maxloss.focus.native import NativeReplay
from stream_maxloss.focus.policy import Policy
from stream_maxloss.focus.slack import Slack
from stream_maxloss.focus.window import iterate_frame
from stream_maxloss.labels import sign_of, signs_of
from stream_maxloss.linear.class_learner import ClassLearner
from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.native import native_frame, native_series
from stream_maxloss.protocol import Answers

__all__ = ["FocusedClassifier"]


class FocusedClassifier(Focused, base.MiniBatchClassifier):
    """Makes any classifier minimise its maximal loss over the rows it still remembers.

    Focused Online Learning (Shalev-Shwartz and Wexler 2016, section 2.3) on a window that slides: each row is learned
    as it comes and enters the window; then some rows of the window are replayed, drawn by a player who seeks out high
    loss::

        p_i = gamma/n + (1 - gamma) v_i/V       the learner takes a step on row i ~ p
        v_i <- v_i exp(eta loss_i / p_i)        with the loss in [0, 1] before that step

    The paper plays on a fixed sample; here rows come and go, the oldest leaving first, and the row that just came is
    always learned besides. `policy="capped"` holds every v_i/V below 2/n, so that the game is about the worse half of
    the rows and not the single worst one. Good for streams in which rare rows matter and are learnable. Do not use it
    where labels repeat themselves in time: replaying the past then hurts more than it helps.

    Parameters
    ----------
    classifier
        Any River classifier, or a pipeline that ends in one. `Scaler() | FocusedClassifier(...)` keeps rows as they
        were scaled when they came; `FocusedClassifier(Scaler() | ...)` feeds the scaler replayed rows, too.
    window
        Number of rows to remember. A longer window remembers rarer rows and costs memory.
    replays
        Replays after each row; 0 for none. `None` takes about log2(window), which is what theorem 1 asks for.
    loss
        `"probability"`: 1 - predict_proba_one(x)[y]; `"zero-one"`: 1 for a wrong label; `"auto"`: the clipped surrogate
        of one of our learners, else the former if the classifier has probabilities. Or a function of
        (y, predict_proba_one(x)) with values in [0, 1].
    gamma
        Share of uniform draws, in (0, 1]; 1 is uniform replay. Lower presses hard rows more.
    eta
        Step of the player; `None` for 1/(2n), which theorem 1 asks for. Raising it to 2/window finds rare rows sooner
        where a model can get all rows right, and costs accuracy where classes overlap.
    share
        Rate at which old weights are forgotten, in [0, 1): a half-life of ln(2)/share replays.
    admission
        `"all"`, `"reservoir"`, `"quota"`, or an `Admission` such as `SubSample(outliers=5)`.
    slack
        Budget for outliers: a `Slack`, a number for the L1 budget, or `None`.
    output
        `"last"` predicts with the classifier itself; `"average"` of the probabilities, or of the scores of one of our
        learners (corollary 2), or `"majority"` of the votes (corollary 1) of snapshots drawn uniformly from the rounds.
    snapshots
        Number of snapshots; only kept where `output` uses them. `None` for what theorem 1 asks for at a loss of 0.49
        and a confidence of 0.95, 665 of them for a window of 10,000 (`stream_maxloss.focus.theorems`).
    span
        Rounds that snapshots are drawn from: the whole `"history"` or the last `"window"` turn.
    seed
        Seed of everything random.
    policy
        How the player weighs rows: `"exponential"` is the paper's, for the maximal loss; `"capped"` presses the worse
        half of the rows and ranks better on most streams; `"uniform"` draws all alike; or `"corrected"`, `"credible"`
        or any `Policy` object, such as `Capped(alpha=0.1)`.

    Raises
    ------
    ValueError
        At construction for a parameter out of its range, or a probability loss or average over a classifier
        without probabilities; later for a loss that leaves [0, 1].

    Notes
    -----
    A row costs 1 + replays steps of the classifier, as many predictions, and O(log window) a replay for the game.

    References
    ----------
    Shai Shalev-Shwartz and Yonatan Wexler. Minimizing the maximal loss: how and why? ICML 2016.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics, preprocessing
    >>> from stream_maxloss.focus import FocusedClassifier
    >>> stream = [(x, y) for i, (x, y) in enumerate(datasets.Phishing()) if not y or i % 10 == 0]
    >>> bare = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> evaluate.progressive_val_score(stream, bare, metrics.Recall())
    Recall: 44.23%
    >>> focused = preprocessing.StandardScaler() | FocusedClassifier(
    ...     linear_model.LogisticRegression(), window=500, seed=1
    ... )
    >>> evaluate.progressive_val_score(stream, focused, metrics.Recall())
    Recall: 57.69%
    >>> hard = focused["FocusedClassifier"].hardest(1)[0]
    >>> hard.y, round(hard.loss, 2)
    (True, 0.54)

    """

    def __init__(
        self,
        classifier: Any,
        window: int = 10_000,
        replays: int | None = None,
        loss: str | Callable[[Any, Any], float] = "auto",
        gamma: float = 0.5,
        eta: float | None = None,
        share: float = 0.0,
        admission: str | Admission = "all",
        slack: Slack | float | None = None,
        output: str = "last",
        snapshots: int | None = 11,
        span: str = "history",
        seed: int | None = None,
        policy: str | Policy = "exponential",
    ) -> None:
        if not isinstance(classifier, base.Classifier):
            raise TypeError(
                f"classifier must be a River classifier, got {classifier!r}; FocusedRegressor takes regressors"
            )
        self.classifier = classifier
        self.window = window
        self.replays = replays
        self.loss = loss
        self.gamma = gamma
        self.eta = eta
        self.share = share
        self.admission = admission
        self.slack = slack
        self.output = output
        self.snapshots = snapshots
        self.span = span
        self.seed = seed
        self.policy = policy
        self._kind = self._choose_loss()
        # Whether the learner is one of ours that knows its classes.
        self._by_class = False
        self._begin(("last", "average", "majority"))

    @property
    def _wrapped_model(self) -> Any:
        return self.classifier

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        # River's models load pandas, scikit-learn and most of scipy where these are installed: not for every user.
        from river import linear_model

        yield {"classifier": linear_model.LogisticRegression(), "window": 50, "replays": 3}

    def _choose_loss(self) -> str:
        if callable(self.loss):
            return "function"
        if self.loss not in ("auto", "probability", "zero-one"):
            raise ValueError(
                f"loss must be 'auto', 'probability', 'zero-one' or a function, got {self.loss!r}; 'auto' suits most"
            )
        able = predicts_probabilities(self.classifier)
        if self.loss == "probability" and not able:
            raise ValueError(
                f"loss must be 'zero-one' for a classifier without probabilities, got 'probability' "
                f"with {self.classifier!r}"
            )
        if self.output == "average" and not able:
            raise ValueError(
                f"output must be 'majority' for a classifier without probabilities, got 'average' "
                f"with {self.classifier!r}"
            )
        if self.loss == "auto":
            return "probability" if able else "zero-one"
        return self.loss

    def _make_native(self) -> NativeReplay | None:
        # To River a pipeline is an instance of what its last step is.
        is_pipeline = isinstance(self.classifier, compose.Pipeline)
        ours = isinstance(self.classifier, LinearClassifier | ClassLearner) and not is_pipeline
        if not ours or callable(self.loss):
            return None
        codes = {"auto": arrays.SURROGATE, "probability": arrays.PROBABILITY, "zero-one": arrays.ZERO_ONE}
        self._by_class = isinstance(self.classifier, ClassLearner)
        output = {"last": arrays.LAST, "average": arrays.AVERAGE, "majority": arrays.MAJORITY}[self.output]
        return NativeReplay(self.classifier._model, self._game, codes[self.loss], output)

    @property
    def _multiclass(self) -> bool:
        return bool(self.classifier._multiclass)

    @property
    def classes(self) -> list[Hashable]:
        """Labels in the order in which they were first seen, of a learner that knows them."""
        return list(self.classifier.classes)

    def _target_of(self, y: Any) -> float:
        return self.classifier._target_of(y) if self._by_class else sign_of(y)

    def _targets_of(self, y: Any) -> NDArray[np.float64]:
        return self.classifier._targets_of(y) if self._by_class else signs_of(y)

    def _label_of(self, target: float) -> Any:
        return self.classifier._label_of(target) if self._by_class else target > 0.0

    def _forget_refused(self) -> None:
        if self._by_class:
            self.classifier._forget_classes()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up the window and the game of a classifier of the same parameters."""
        if self._by_class:
            targets = np.asarray(state["rows.window.targets"], dtype=np.float64)
            if not np.isin(targets, np.arange(self.classifier._model.classes)).all():
                raise ValueError(f"targets must be numbers of the learner's {self.classifier._model.classes} classes")
        super().load_state_dict(state)

    def _loss_of(self, x: Any, y: Any, keywords: dict[str, Any]) -> float:
        if self._kind == "zero-one":
            return 0.0 if self.classifier.predict_one(x, **keywords) == y else 1.0
        probabilities = self.classifier.predict_proba_one(x, **keywords)
        if self._kind == "function":
            return checked_loss(self.loss(y, probabilities), self.loss)  # type: ignore[operator]
        # A label that the classifier has never met has no probability yet.
        loss = 1.0 - probabilities.get(y, 0.0)
        return loss if 0.0 <= loss <= 1.0 else checked_loss(loss, "predict_proba_one")

    def predict_one(self, x: Any, **kwargs: Any) -> Any:
        """Predict the label of a row, or None before any was learned."""
        if self._by_class:
            return self.classifier.predict_one(x)
        if self._native is not None:
            return self._native.score(x) >= 0.0
        if not self._snapshots:
            return self.classifier.predict_one(x, **kwargs)
        if self.output == "majority":
            votes = self._votes(x, kwargs)
            return max(votes, key=lambda label: votes[label]) if votes else None
        probabilities = self.predict_proba_one(x, **kwargs)
        return max(probabilities, key=lambda label: probabilities[label]) if probabilities else None

    def predict_proba_one(self, x: Any, **kwargs: Any) -> dict[Any, float]:
        """Predict a probability for each label: the learner's, the snapshots' mean, or their shares of the vote."""
        if self._by_class:
            return self.classifier.predict_proba_one(x)
        if self._native is not None:
            positive = float(self._positive(self._native.score(x), self._native.snapshots > 0))
            return {False: 1.0 - positive, True: positive}
        if not self._snapshots:
            return self.classifier.predict_proba_one(x, **kwargs)
        if self.output == "majority":
            # Every label that the learner knows gets its share, be it none.
            votes = self._votes(x, kwargs)
            known = self.classifier.predict_proba_one(x, **kwargs) if self._knows_labels() else votes
            total = sum(votes.values())
            return {label: votes.get(label, 0) / total if total else share for label, share in known.items()} | (
                {label: count / total for label, count in votes.items() if label not in known}
            )
        sums: Counter[Any] = Counter(dict.fromkeys(self.classifier.predict_proba_one(x, **kwargs), 0.0))
        for snapshot in self._snapshots:
            sums.update(snapshot.predict_proba_one(x, **kwargs))
        total = sum(sums.values())
        return {label: value / total for label, value in sums.items()} if total > 0.0 else {}

    def _positive(self, scores: Any, by_snapshots: Any) -> Any:
        """Return the probability of True that scores stand for: their logistic, or a share of votes."""
        logistic = 0.5 * (1.0 + np.tanh(0.5 * scores))
        return np.where(by_snapshots, 0.5 * (1.0 + scores), logistic) if self.output == "majority" else logistic

    def _answers_of(self, scores: NDArray[np.float64], by_snapshots: Any) -> Answers:
        if self._by_class:
            return self.classifier._answers_of(scores)
        first = scores if scores.ndim == 1 else scores[:, 0]
        return Answers(first >= 0.0, self._positive(first, by_snapshots))

    def _knows_labels(self) -> bool:
        return predicts_probabilities(self.classifier)

    def _votes(self, x: Any, kwargs: dict[str, Any]) -> Counter[Any]:
        votes = Counter(snapshot.predict_one(x, **kwargs) for snapshot in self._snapshots)
        votes.pop(None, None)
        return votes

    def predict_many(self, X: Any, **kwargs: Any) -> Any:
        """Predict the labels of a frame's rows, as a series of the same library."""
        if self._by_class:
            return self.classifier.predict_many(X)
        if self._native is not None:
            return native_series(self.answer_many(X).labels, X)
        labels = [self.predict_one(x, **kwargs) for x, _ in iterate_frame(X, None)]
        values = np.array(labels, dtype=object if None in labels else None)
        return native_series(values, X)

    def predict_proba_many(self, X: Any, **kwargs: Any) -> Any:
        """Predict the probabilities of a frame's rows, as a frame of the same library with a column for each label."""
        if self._by_class:
            return self.classifier.predict_proba_many(X)
        if self._native is not None:
            found: Any = self.answer_many(X).probabilities
            return native_frame({False: 1.0 - found, True: found}, X)
        rows = [self.predict_proba_one(x, **kwargs) for x, _ in iterate_frame(X, None)]
        labels = list(dict.fromkeys(label for row in rows for label in row))
        columns = {label: np.array([row.get(label, 0.0) for row in rows]) for label in labels}
        return native_frame(columns, X)
