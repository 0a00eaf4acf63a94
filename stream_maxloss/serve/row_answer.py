"""The shortest way from one JSON row to the answer, for the models that most services have."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any

import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray

from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.pipeline import RowPipeline
from stream_maxloss.linear.scaler import Scaler, matrix_at
from stream_maxloss.linear.statistics import scale_rows
from stream_maxloss.machine.pointers import address_of

__all__ = ["RowAnswer", "find_row_answer"]

ANSWERS = (b'{"prediction":false,"probability":', b'{"prediction":true,"probability":')
astuple = msgspec.structs.astuple


class RowAnswer:
    """Answers rows of numbers by a binary linear learner, scaled or not, with the bits of `predict_proba_one`.

    What a request would look up again and again (River's way through a pipeline, the scaler's columns by their names)
    is looked up once; only the scaler's and the learner's numbers are read anew for each row.

    Parameters
    ----------
    decode
        Makes a msgspec struct with a number for each name, or None, of JSON.
    names
        The names of its fields, in their order.
    learner
        What scores.
    scaler
        What scales before; None where nothing does.

    Examples
    --------
    >>> from stream_maxloss.linear import Perceptron
    >>> from stream_maxloss.run import Columns
    >>> from stream_maxloss.serve.bodies import read_body
    >>> from stream_maxloss.serve.row_answer import find_row_answer
    >>> from stream_maxloss.serve.row_form import RowForm
    >>> form = RowForm(Columns("y"), "binary")
    >>> form.fix(form.infer(read_body(b'{"size": 1, "y": true}', "application/json")))
    >>> model = Perceptron()
    >>> model.learn_one({"size": 2.0}, False)
    >>> answer = find_row_answer(model, form.decode_numbers, form.fields)
    >>> answer(b'{"size": 1}')[:19], answer(b'{"size": "large"}')
    (b'{"prediction":false', None)

    """

    def __init__(
        self, decode: Callable[[bytes], Any], names: tuple[str, ...], learner: LinearClassifier, scaler: Scaler | None
    ) -> None:
        self.decode = decode
        self.names = names
        self.learner = learner
        self.scaler = scaler
        self._places: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._known: tuple[Any, ...] = ()

    def __call__(self, data: bytes) -> bytes | None:
        """Return the answer as JSON; None for a row that takes a closer look."""
        try:
            values = astuple(self.decode(data))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        if None in values or not math.isfinite(sum(values)):
            return None
        row: dict[Hashable, Any] = dict(
            zip(self.names, values if self.scaler is None else self._scaled(values), strict=True)
        )
        # numpy's tanh, as `predict_proba_one` has it.
        positive = 0.5 * (1.0 + float(np.tanh(0.5 * self.learner._model.score(row))))
        if positive == 0.5:
            return None  # a tie: the learner decides
        return ANSWERS[positive > 0.5] + orjson.dumps(positive) + b"}"

    def _scaled(self, values: tuple[float, ...]) -> list[float]:
        scaler: Any = self.scaler
        features, statistics, row = scaler._features, scaler._statistics, np.array(values)
        known = (features, len(features), features.cuts)
        if known != self._known:
            self._places = np.array([*map(features.find, self.names)], dtype=np.int64)
            self._known = known
        if known[1] > statistics.shape[1]:
            statistics = scaler._room_for(self._places)
        scale_rows(
            address_of(statistics), statistics.shape[1], *matrix_at(self._places, row[np.newaxis]), scaler._limit
        )
        found: list[float] = row.tolist()
        return found


def find_row_answer(model: Any, decode: Callable[[bytes], Any] | None, names: tuple[str, ...]) -> RowAnswer | None:
    """Return what answers rows by a model; None for models and rows of other kinds.

    Parameters
    ----------
    model
        The model.
    decode, names
        As for `RowAnswer`; None and nothing where not all features are numbers.

    """
    if decode is None or not names:
        return None
    steps = list(model.steps.values()) if type(model) is RowPipeline else [model]
    scaler = steps[0] if len(steps) == 2 and type(steps[0]) is Scaler else None
    if len(steps) != 1 + (scaler is not None):
        return None
    learner = steps[-1]
    # A learner of somebody else's may have an answer of its own.
    if getattr(type(learner), "predict_proba_one", None) is not LinearClassifier.predict_proba_one:
        return None
    return RowAnswer(decode, names, learner, scaler)
