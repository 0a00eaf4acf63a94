"""Several workers that learn different rows, and are averaged now and then, as one estimator."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
from river import base

from stream_maxloss.arguments import require_count
from stream_maxloss.described import ArrayOf, check_state
from stream_maxloss.mixing.merging import mix, require_mergeable
from stream_maxloss.rows.dicts import frame_to_dicts

__all__ = ["MixedClassifier", "MixedRegressor"]


class Workers:
    """What the classifier and the regressor share: all but the probabilities of classes."""

    def __init__(self, model: Any, workers: int = 2, mix_every: int = 1000, by: str | None = None) -> None:
        require_count("workers", workers)
        require_count("mix_every", mix_every)
        require_mergeable(model)
        self.model = model
        self.workers = workers
        self.mix_every = mix_every
        self.by = by
        self._workers: list[Any] = [copy.deepcopy(model) for _ in range(workers)]
        self._mixed: Any = copy.deepcopy(model)
        self._clock = np.zeros(2 + workers, dtype=np.int64)  # rounds, rows, and of each worker those since the last mix

    @property
    def rounds(self) -> int:
        """How often the workers were mixed."""
        return int(self._clock[0])

    @property
    def mixed(self) -> Any:
        """The model as it was mixed last: it predicts. In the first round that of the one worker there is."""
        return self._workers[0] if self.workers == 1 or not self.rounds else self._mixed

    def _turn(self, x: Mapping[Hashable, Any]) -> int:
        """Return which worker learns a row."""
        if not self.rounds:
            return 0
        if self.by is None:
            return int(self._clock[1]) % self.workers
        digest = blake2b(str(x.get(self.by)).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.workers

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Let the worker whose turn it is learn a row."""
        worker = self._turn(x)
        if w == 1.0:
            self._workers[worker].learn_one(x, y)
        else:
            self._workers[worker].learn_one(x, y, w=w)
        self._clock[1] += 1
        self._clock[2 + worker] += 1
        if self.workers > 1:
            self._end_round()

    def learn_many(self, X: Any, y: Any, w: float = 1.0) -> None:
        """Learn the rows of a frame, one after another."""
        for x, label in zip(frame_to_dicts(X), list(y), strict=True):
            self.learn_one(x, label, w)

    def predict_one(self, x: dict[Hashable, Any]) -> Any:
        """Return what the mixed model says."""
        return self.mixed.predict_one(x)

    def predict_many(self, X: Any) -> Any:
        """Return what the mixed model says of each row."""
        return self.mixed.predict_many(X)

    def _end_round(self) -> None:
        done = self._clock[2:]
        if not self.rounds:
            # All begin as copies of one that has learned a round: with its thresholds, labels and scales.
            if done[0] >= self.mix_every:
                self._workers = [copy.deepcopy(self._workers[0]) for _ in range(self.workers)]
                self._finish_round()
        elif done.sum() >= self.mix_every * self.workers:
            mix(self._workers, self._mixed, (done / done.sum()).tolist())
            self._finish_round()

    def _finish_round(self) -> None:
        self._mixed = copy.deepcopy(self._workers[0])
        self._clock[0] += 1
        self._clock[2:] = 0

    def state_dict(self) -> dict[str, Any]:
        """Return the round and whose turn it is; what the workers have learned is no part of it."""
        return {"clock": self._clock.copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` of as many workers returned; ValueError if it does not fit."""
        check_state({"clock": state["clock"]}, {"clock": ArrayOf("int64", (2 + self.workers,), low=0)})
        self._clock = np.array(state["clock"])


class MixedClassifier(Workers, base.MiniBatchClassifier):
    r"""N workers that learn different rows of one stream, and take the average of their weights every so many rows.

    A round is `mix_every` rows a worker. Then $w = \sum_i a_i w_i$ by feature name, with $a_i$ the share of the round's
    rows that worker i has learned; scalers are joined by Chan's formula; windows, trees and generators stay with their
    worker. The first round is learned by one worker, and all begin as its copies.

    Every row is predicted by the model that was mixed last, before any worker learns it: the score is that of the
    merged model on common rows, which is what one gets who mixes. All workers take turns in this process: it shows what
    mixing costs in accuracy, and makes nothing faster.

    Parameters
    ----------
    model
        One of our linear learners without averaged iterates, bare or focused, after a scaler, bins or ferns.
    workers
        How many workers.
    mix_every
        Rows that each learns between two mixes, on average.
    by
        The feature by whose value rows are dealt to workers; None to deal them in turn.

    Raises
    ------
    UsageError
        If the model has no sensible average.

    Examples
    --------
    >>> import random
    >>> from stream_maxloss.linear import HingeOGD
    >>> from stream_maxloss.mixing import MixedClassifier
    >>> generator, model = random.Random(1), MixedClassifier(HingeOGD(), workers=4, mix_every=50)
    >>> right = 0
    >>> for _ in range(2000):
    ...     x = {"a": generator.gauss(0, 1), "b": generator.gauss(0, 1)}
    ...     right += model.predict_one(x) == (x["a"] > x["b"])
    ...     model.learn_one(x, x["a"] > x["b"])
    >>> model.rounds, right > 1800
    (10, True)

    """

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from stream_maxloss.linear import HingeOGD

        yield {"model": HingeOGD(), "mix_every": 20}

    @property
    def _multiclass(self) -> bool:
        return bool(self.model._multiclass)

    def predict_proba_one(self, x: dict[Hashable, Any]) -> dict[Any, float]:
        """Return the mixed model's probabilities."""
        found: dict[Any, float] = self.mixed.predict_proba_one(x)
        return found

    def predict_proba_many(self, X: Any) -> Any:
        """Return the mixed model's probabilities of each row."""
        return self.mixed.predict_proba_many(X)


class MixedRegressor(Workers, base.MiniBatchRegressor):
    """The same for a regressor: `AbsoluteOGD`, bare or focused, after a scaler, bins or ferns.

    Parameters
    ----------
    model, workers, mix_every, by
        See `MixedClassifier`.

    Examples
    --------
    >>> from stream_maxloss.linear import AbsoluteOGD
    >>> from stream_maxloss.mixing import MixedRegressor
    >>> model = MixedRegressor(AbsoluteOGD(), workers=2, mix_every=10)
    >>> for size in range(100):
    ...     model.learn_one({"size": size / 100}, size / 50)
    >>> model.rounds
    5

    """

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from stream_maxloss.linear import AbsoluteOGD

        yield {"model": AbsoluteOGD(), "mix_every": 20}
