"""Labels as the model takes them, from the column as it comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_maxloss.errors import DecodeError, UsageError
from stream_maxloss.intake.numbers import find_decimal_mark, parse_numbers
from stream_maxloss.rows.columns import to_floats
from stream_maxloss.run.certificate import inner_model
from stream_maxloss.run.closest import listed
from stream_maxloss.run.task import is_text

__all__ = ["Target", "TextTargetError", "label_kind"]


def label_kind(model: Any) -> str:
    """Return what labels a model takes: `binary` (our classifiers), `number` (regressors), `any`, or `auto`.

    `auto` is any for a model of ours: text as it comes, and what has the values of a binary label as true and false.
    """
    from river import base

    from stream_maxloss.linear.classifier import LinearClassifier

    model = inner_model(model)
    model = getattr(model, "template", model)  # of one model for each key, each of them takes
    last = model._last_step if hasattr(model, "_last_step") else model
    inner = getattr(last, "classifier", last)
    if isinstance(inner, LinearClassifier) and not getattr(last, "_multiclass", False):  # as one against the rest is
        return "binary"
    if isinstance(last, base.Classifier) and getattr(last, "is_native", False) and hasattr(last, "classes"):
        return "auto"
    return "any" if isinstance(last, base.Classifier) else "number"


class TextTargetError(UsageError):
    """The target is text and the model wants numbers; the message names the texts seen."""


class Target:
    """Reads the label's column.

    Parameters
    ----------
    name
        The column.
    kind
        What the model takes, from `label_kind`; or `class` for labels as they are, whole numbers as integers.
    positive
        The value that counts as positive, as text; every other one is negative. None where labels are binary already.

    Attributes
    ----------
    mark
        What stands before the decimals of numbers that come as text (`1.402,50 €`), from `settle`; else None.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.run.target import Target
    >>> labels, bad = Target("kind", "binary", "spam").read(pa.array(["ham", "spam", None]), str)
    >>> labels
    array([False,  True, False])
    >>> [str(error) for error in Target("size", "number").read(pa.array([1.0, float("inf"), None]), str)[1].values()]
    ["1: target 'size' must be a finite number, got inf; repair the row"]

    """

    def __init__(self, name: str, kind: str, positive: str | None = None) -> None:
        if positive is not None and kind == "number":
            raise UsageError(f"positive must come with a classifier, got {positive!r} for a regressor; drop it")
        self.name = name
        self.kind = kind
        self.positive = positive
        self.seen_positive = False
        self.mark: str | None = None

    def settle(self, head: pa.Array) -> None:
        """Find in the first values how numbers are written where they come as text; what was found stays."""
        if self.mark is None and self.kind == "number" and is_text(head.type):
            self.mark = find_decimal_mark(head)

    def read(self, column: pa.Array, address: Callable[[int], str]) -> tuple[NDArray[Any], dict[int, DecodeError]]:
        """Return the labels, and the error of each row with one that cannot be used. A missing one is no error.

        Raises
        ------
        UsageError
            If the column as a whole cannot be a label of this model.

        """
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if self.kind == "auto":
            self.kind = "class" if is_text(column.type) else "binary"
        bad: dict[int, DecodeError] = {}
        labels: NDArray[Any]
        if self.positive is not None:
            labels = self._compare(column)
        elif self.kind == "any":
            labels = as_objects(column.to_pylist())
        elif self.kind == "class":
            labels = self._classes(column, address, bad)
        else:
            if self.mark is not None and is_text(column.type):
                column = self._as_numbers(column, address, bad)
            labels = self._numbers(column)
            self._check(labels, column, address, bad)
            if self.kind == "binary" and labels.dtype != np.bool_:
                labels = labels == 1.0
        return labels, bad

    def _compare(self, column: pa.Array) -> NDArray[np.bool_]:
        import pyarrow.compute as pc

        positive: Any = self.positive
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.string())
            positive = str(positive).lower()
        elif not is_text(column.type):
            try:
                column, positive = column.cast(pa.float64()), float(positive)
            except (ValueError, pa.ArrowInvalid) as error:
                raise UsageError(
                    f"positive must be a number like the values of {self.name!r}, got {self.positive!r}"
                ) from error
        found = pc.fill_null(pc.equal(column, positive), False).to_numpy(zero_copy_only=False)
        self.seen_positive = self.seen_positive or bool(found.any())
        return np.asarray(found)

    def _classes(
        self, column: pa.Array, address: Callable[[int], str], bad: dict[int, DecodeError]
    ) -> NDArray[np.object_]:
        values = column.to_pylist()
        if not pa.types.is_floating(column.type):
            return as_objects(values)
        for row, value in enumerate(values):
            if value is not None and value.is_integer():
                values[row] = int(value)
            elif value is not None:
                reason = f"target {self.name!r} must be a whole number to be a class, got {value!r}; add --task number"
                bad.setdefault(row, DecodeError(address(row), reason))
        return as_objects(values)

    def _as_numbers(self, column: pa.Array, address: Callable[[int], str], bad: dict[int, DecodeError]) -> pa.Array:
        """Return texts as numbers, null where they are none."""
        numbers, wrong = parse_numbers(column, str(self.mark))
        for row in () if wrong is None else np.flatnonzero(wrong).tolist():
            reason = f"target {self.name!r} must be a number, got {column[row].as_py()!r}; repair the row"
            bad[row] = DecodeError(address(row), reason)
        return numbers

    def _numbers(self, column: pa.Array) -> NDArray[Any]:
        if is_text(column.type):
            raise self._refuse_text(column)
        if pa.types.is_boolean(column.type):
            return to_floats(column) == 1.0
        try:
            return to_floats(column)
        except pa.ArrowNotImplementedError as error:
            raise UsageError(f"target {self.name!r} must be a number, a boolean or text, got {column.type}") from error

    def _check(
        self, labels: NDArray[Any], column: pa.Array, address: Callable[[int], str], bad: dict[int, DecodeError]
    ) -> None:
        if labels.dtype == np.bool_:
            return
        if self.kind == "number":
            wrong = ~np.isfinite(labels)
            must, remedy = "a finite number", "repair the row"
        else:
            wrong = ~((labels == 1.0) | (labels == 0.0) | (labels == -1.0))
            must = "true/false, 0/1 or -1/1"
            remedy = "name the positive value (--positive VALUE), or use --model auto with --task class or number"
        if column.null_count:
            wrong &= ~np.asarray(column.is_null().to_numpy(zero_copy_only=False))
        for row in np.flatnonzero(wrong).tolist():
            reason = f"target {self.name!r} must be {must}, got {labels[row].item()!r}; {remedy}"
            bad.setdefault(row, DecodeError(address(row), reason))
            if len(bad) > 1000:  # Every label is wrong: the first will stop the run or the limit will.
                break

    def _refuse_text(self, column: pa.Array) -> TextTargetError:
        values = [str(value) for value in column.unique().to_pylist() if value is not None]
        if self.kind == "number":
            return TextTargetError(
                f"target {self.name!r} must be a number for a regressor, got text such as {listed(values, 3)}; "
                "choose another column, or learn classes (--task class)"
            )
        if len(values) > 2:
            return TextTargetError(
                f"target {self.name!r} must have two values, got the texts {listed(values, 4)}; set one against the "
                f"rest (--positive {values[0]!r}), or use a model for more classes (--model auto)"
            )
        return TextTargetError(
            f"target {self.name!r} must be true/false, 0/1 or -1/1, got the texts {listed(values)}; "
            f"say which one counts as positive: --positive {values[-1]!r}"
        )


def as_objects(values: list[Any]) -> NDArray[np.object_]:
    """Return Python objects as a column, lists among them as they are."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
