"""What a learner must offer to run whole batches in kernels: who calls it, and what it returns.

Evaluation, the command line and pipelines check whether a model `is_native`. If so they hand it whole batches
(`answer_many`, `answer_learn_many`); if not, they go row by row through River's methods. Checkpoints call `state_dict`
and `load_state_dict`. Nothing else of a learner is known to them.

A learner that is a program over one block of memory gets all of this from `stream_maxloss.native`, and focus with it.

Threads: one call at a time changes a model. A second one meanwhile, be it from another thread or from a value's own
`__float__`, raises RuntimeError or waits its turn; it never corrupts memory. Predicting while another thread learns is
answered from the weights of that moment or raises RuntimeError. It leaves what a linear learner learns alone; a focused
one may draw other rows to replay. Models that share no parts may be used by as many threads as you like.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

__all__ = ["Answers", "NativeLearner"]


@dataclass(frozen=True)
class Answers:
    """What a model says of each row of a batch.

    Parameters
    ----------
    labels
        The predicted label (bool for binary learners, any object for many classes) or value (float64) of each row.
    probabilities
        (rows,) probabilities of True for binary learners, (rows, K) for K classes, None for regressors and for models
        that only vote.
    classes
        The classes of the columns, in order of first sight; None for binary learners and regressors.

    """

    labels: NDArray[Any]
    probabilities: NDArray[Any] | None
    classes: tuple[Hashable, ...] | None = None


@runtime_checkable
class NativeLearner(Protocol):
    """A learner that predicts and learns whole batches by itself.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.linear import Perceptron
    >>> from stream_maxloss.protocol import NativeLearner
    >>> model = Perceptron()
    >>> isinstance(model, NativeLearner) and model.is_native
    True
    >>> model.answer_learn_many(pa.table({"x": [1.0, -1.0, 1.0]}), [True, False, True]).labels
    array([ True,  True,  True])

    """

    @property
    def is_native(self) -> bool:
        """Whether batches run in kernels as the learner is configured: a pipeline or a wrapper may say no."""

    @property
    def memory_bytes(self) -> int:
        """Bytes held by what was learned."""

    def answer_many(self, X: Any) -> Answers:
        """Predict every row of a frame and learn nothing."""

    def answer_learn_many(self, X: Any, y: Any, w: Any = 1.0) -> Answers:
        """Predict each row of a frame, then learn it, row after row; return the predictions made before learning it.

        If a row is refused, RowError says which, and the learner is unchanged.
        """

    def state_dict(self) -> dict[str, Any]:
        """Return everything that was learned, as arrays and JSON."""

    def load_state_dict(self, state: Any) -> None:
        """Take over what `state_dict` of a learner with the same parameters returned."""
