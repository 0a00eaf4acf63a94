"""From a mistake bound to a PAC guarantee: when is a model ready to be promoted?"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from river import base

from stream_maxloss.concepts.conservative import Conservative, is_mistake
from stream_maxloss.concepts.version_space import Label

__all__ = ["Certificate", "OnlineToPAC", "sample_size", "stage_length"]

COUNTERS = ("stage", "stage_rows", "rows")
"""What a certificate tells of how it was earned."""


def stage_length(epsilon: float, delta: float, stage: int) -> int:
    """Return m_i: the rows in a row without a mistake that certify the hypothesis of stage i = 1, 2, ...

    m_i = (1/epsilon) ln(1/delta_i), rounded up, with delta_i = delta / 2^i. A hypothesis whose error is above
    epsilon survives that many independent rows with probability at most (1 - epsilon)^m_i <= delta_i.

    Examples
    --------
    >>> from stream_maxloss.concepts import stage_length
    >>> [stage_length(0.1, 0.05, stage) for stage in (1, 2, 3)]
    [37, 44, 51]

    """
    return math.ceil((stage * math.log(2.0) - math.log(delta)) / epsilon)


def sample_size(epsilon: float, delta: float, mistakes: int) -> int:
    """Return the rows after which a learner that errs at most `mistakes` times is certified at the latest.

    The sum of m_i over the stages 1 to M + 1. The lecture bounds it by (M/epsilon) ((M+1)/2 + ln(1/delta)); as
    printed that covers M stages, and with M + 1 for M it covers all of them (but for the rounding up).

    Examples
    --------
    >>> from stream_maxloss.concepts import sample_size
    >>> sample_size(0.1, 0.05, mistakes=2)
    132

    """
    return sum(stage_length(epsilon, delta, stage) for stage in range(1, mistakes + 2))


@dataclass(frozen=True)
class Certificate:
    """A frozen hypothesis with the guarantee it has earned.

    If the rows were drawn independently from one distribution, then with probability at least 1 - `delta` over
    the stream, every certificate that its `OnlineToPAC` issues has an error of at most `epsilon`.

    Parameters
    ----------
    hypothesis
        A deep copy of the model as it survived; nothing trains it further.
    epsilon
        The certified error.
    delta
        The probability that the certificate is wrong.
    stage
        The stage that ended in it; `stage - 1` mistakes came before.
    stage_rows
        m_i, the rows that the hypothesis got right without a miss.
    rows
        All rows used, from the beginning of the stream.

    """

    hypothesis: base.Classifier
    epsilon: float
    delta: float
    stage: int
    stage_rows: int
    rows: int

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Label | None:
        """Return the hypothesis' label."""
        return self.hypothesis.predict_one(x, **kwargs)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Label, float]:
        """Return the hypothesis' probabilities."""
        return self.hypothesis.predict_proba_one(x, **kwargs)


class OnlineToPAC(Conservative):
    """Run a classifier in stages until one of its hypotheses earns a certificate.

    A_PAC of the lecture notes *Online Algorithms* ("Building A_PAC"). The model is run conservatively, so that its
    hypothesis stands still within a stage. A mistake ends stage i and begins stage i + 1; m_i rows without one
    (`stage_length`) end the search with a certificate, and the delta_i add up to delta. With a mistake bound M there
    are at most M + 1 stages (`sample_size`); without one, a model that keeps erring is never certified.

    Where the lecture stops, a stream goes on: the model keeps learning from its mistakes, in further stages. The
    union bound runs over all stages, so a later certificate replaces the earlier one at no cost in delta.

    Parameters
    ----------
    model
        Any River classifier. Wrap the whole pipeline: a scaler outside would go on moving the hypothesis that
        the certificate calls frozen.
    epsilon
        The error to certify, in (0, 1). Halving it doubles every stage.
    delta
        The probability of a wrong certificate, in (0, 1). Cheap: it enters by its logarithm.

    Notes
    -----
    The guarantee is about independent rows from one distribution. Under drift a certificate speaks of the past.
    As a stopping or promotion rule, look at `ready` after each `learn_one`.

    Examples
    --------
    >>> import random
    >>> from stream_maxloss.concepts import Elimination, OnlineToPAC
    >>> model = OnlineToPAC(Elimination(), epsilon=0.05, delta=0.01)
    >>> rng = random.Random(1)
    >>> while not model.ready:
    ...     x = {name: rng.random() < 0.5 for name in "abcdef"}
    ...     model.learn_one(x, x["a"] or not x["d"])
    >>> certificate = model.certificate
    >>> certificate.hypothesis.literals
    ['a', 'not d']
    >>> certificate.stage, certificate.stage_rows, certificate.rows
    (5, 162, 180)

    """

    def __init__(self, model: base.Classifier, epsilon: float, delta: float) -> None:
        super().__init__(model)
        for name, value in (("epsilon", epsilon), ("delta", delta)):
            if not 0.0 < value < 1.0:
                raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}; it is a probability")
        self.epsilon = epsilon
        self.delta = delta
        self._hypothesis = model.clone()
        self._run = 0
        self._certificate: Certificate | None = None

    @property
    def certificate(self) -> Certificate | None:
        """The latest hypothesis that survived its stage, or None."""
        return self._certificate

    @property
    def hypothesis(self) -> base.Classifier:
        """The certified hypothesis; before there is one, a model that has learned nothing."""
        return self._hypothesis

    @property
    def ready(self) -> bool:
        """Whether there is a certificate: a hypothesis fit to be promoted."""
        return self._certificate is not None

    @property
    def stage(self) -> int:
        """The current stage, from 1: one more than the mistakes made."""
        return self._n_mistakes + 1

    @property
    def run(self) -> int:
        """Rows the current hypothesis got right without a miss."""
        return self._run

    @property
    def rows_to_go(self) -> int:
        """Rows without a mistake until the current hypothesis is certified; 0 once it is."""
        return max(0, stage_length(self.epsilon, self.delta, self.stage) - self._run)

    def learn_one(self, x: dict[Any, Any], y: Label, **kwargs: Any) -> None:
        """Lengthen the run, or learn from the mistake and begin the next stage."""
        self._n_rows += 1
        if is_mistake(self.model.predict_one(x), y):
            # Counted only once it is learned: a row that the model refuses ends no stage.
            self.model.learn_one(x, y, **kwargs)
            self._n_mistakes += 1
            self._run = 0
            return
        self._run += 1
        if self._run == stage_length(self.epsilon, self.delta, self.stage):
            self._hypothesis = copy.deepcopy(self.model)
            self._certificate = self._certify(self.stage, self._run, self._n_rows)

    def _certify(self, stage: int, stage_rows: int, rows: int) -> Certificate:
        return Certificate(self._hypothesis, self.epsilon, self.delta, stage, stage_rows, rows)

    def state_dict(self) -> dict[str, Any]:
        """Return the counters; the states of `model` and `hypothesis` are their own."""
        state = {"stage": self.stage, "run": self._run, "rows": self._n_rows}
        if self._certificate is not None:
            state |= {f"certificate.{name}": getattr(self._certificate, name) for name in COUNTERS}
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`, around a `model` and a `hypothesis` that are what they were."""
        stage, run, rows = (int(state[name]) for name in ("stage", "run", "rows"))
        issued = [int(state[f"certificate.{name}"]) for name in COUNTERS] if "certificate.stage" in state else None
        if stage < 1 or run < 0 or stage - 1 + run > rows:
            raise ValueError(f"stage and run must be of {rows} rows, got {stage} and {run}; use another checkpoint")
        # A run that is complete without its certificate would never end: it waits for no row more.
        if (issued is None or issued[0] != stage) and run >= stage_length(self.epsilon, self.delta, stage):
            raise ValueError(f"a run of {run} rows in stage {stage} must have its certificate; use another checkpoint")
        self._n_mistakes, self._run, self._n_rows = stage - 1, run, rows
        self._certificate = None if issued is None else self._certify(*issued)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model, naive_bayes

        # The second is so undemanding that certificates are issued within the checks' 200 rows.
        yield {"model": linear_model.LogisticRegression(), "epsilon": 0.1, "delta": 0.05}
        yield {"model": naive_bayes.GaussianNB(), "epsilon": 0.9, "delta": 0.9}
