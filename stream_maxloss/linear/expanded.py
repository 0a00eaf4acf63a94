"""A transformer that adds features, and a model, run together over rows and frames."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from typing import Any

import numpy as np

from stream_maxloss.errors import RowError
from stream_maxloss.labels import SIGNS, as_array
from stream_maxloss.linear.batch_checks import check_length, row_weights
from stream_maxloss.protocol import Answers

__all__ = ["answer_learn_expanded", "join_answers", "learn_expanded"]


def learn_expanded(expander: Any, model: Any, x: dict[Hashable, Any], y: Any, params: dict[str, Any]) -> None:
    """Let a transformer learn a row, then the model what it makes of it; neither if the model refuses it."""
    expander.learn_one(x)
    try:
        model.learn_one(expander.transform_one(x), y, **params)
    except Exception:
        expander.undo()
        raise


def answer_learn_expanded(expander: Any, model: Any, X: Any, y: Any, w: Any, slices: Any = None) -> Answers:
    """Predict each row of a frame, then learn it; return what was said before. If a row is refused, none is learned.

    Rows run as a whole as long as none changes what the transformer does. One that does is predicted before that, and
    learned after it, as River's `Pipeline` does with predict_one and learn_one.
    """
    frame, labels = expander.open(X), as_array(y)
    rows = frame.num_rows
    check_length(rows, labels)
    weights, names = row_weights(w, rows), None if slices is None else list(slices)
    before, whole = copy.deepcopy(expander.__dict__), expander.steady_rows(frame) == rows
    # Of a single batch the model itself takes back what it refuses.
    model_before = None if whole else copy.deepcopy(model.__dict__)
    parts: list[Answers] = []
    first = 0
    try:
        while first < rows or not parts:
            last = first + max(expander.steady_rows(frame.part(first, rows)), min(1, rows))
            part = slice(first, last)
            named = {} if names is None else {"slices": names[part]}
            parts.append(run_part(expander, model, frame.part(first, last), labels[part], weights[part], named))
            first = last
    except Exception as error:
        restore(expander, before)
        if model_before is not None:
            restore(model, model_before)
        raise moved(error, first) from error
    return join_answers(parts)


def run_part(expander: Any, model: Any, X: Any, y: Any, w: Any, named: dict[str, Any]) -> Answers:
    """Predict and learn rows of which none changes the transformer, or a single one that does."""
    if expander.steady_rows(X) == len(y):
        answers: Answers = model.answer_learn_many(expander.expand_many(X), y, w, **named)
        expander.learn_many(X)
        return answers
    said: Answers = model.answer_many(expander.expand_many(X))
    expander.learn_many(X)
    model.learn_many(expander.expand_many(X), y, w=w, **named)
    return said


def restore(thing: Any, state: dict[str, Any]) -> None:
    """Restore the attributes of an object."""
    thing.__dict__.clear()
    thing.__dict__.update(state)


def moved(error: Exception, first: int) -> Exception:
    """Return the error of a row of a part as that of the whole batch."""
    if not isinstance(error, RowError) or not first:
        return error
    row = error.row + first
    return RowError(row, error.reason.replace(f" of row {error.row}", f" of row {row}", 1))


def join_answers(parts: list[Answers]) -> Answers:
    """Return the answers about several stretches of rows as one; a class that came later had no probability before.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.linear.expanded import join_answers
    >>> from stream_maxloss.protocol import Answers
    >>> early = Answers(np.array([True]), np.array([0.75]))
    >>> late = Answers(np.array([2], dtype=object), np.array([[0.25, 0.25, 0.5]]), (0, 1, 2))
    >>> join_answers([early, late]).probabilities
    array([[0.25, 0.75, 0.  ],
           [0.25, 0.25, 0.5 ]])

    """
    classes = parts[-1].classes
    if len(parts) == 1 or classes is None:
        said = None if parts[0].probabilities is None else np.concatenate([part.probabilities for part in parts])
        return Answers(np.concatenate([part.labels for part in parts]), said, classes)
    spread = [widened(part, classes) for part in parts]
    labels = np.concatenate([part.labels.astype(object) for part in spread])
    return Answers(labels, np.concatenate([part.probabilities for part in spread]), classes)


def widened(answers: Answers, classes: tuple[Hashable, ...]) -> Answers:
    """Return answers with a column for each of more classes."""
    said: Any = answers.probabilities
    wide = np.zeros((len(said), len(classes)))
    if answers.classes is not None:
        wide[:, : said.shape[1]] = said
        return Answers(answers.labels, wide, classes)
    for place, label in enumerate(classes):
        if label in SIGNS and place < 2:
            wide[:, place] = said if label == 1 else 1.0 - said
    named = np.empty(len(classes), dtype=object)
    named[:] = classes
    return Answers(named[wide.argmax(axis=1)], wide, classes)
