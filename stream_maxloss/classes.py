"""The classes of a classifier, in the order in which they were first seen."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.errors import RowError
from stream_maxloss.labels import SIGNS, as_array

__all__ = ["Classes"]


class Classes:
    """Labels as numbers 0, 1, 2, ...: any hashable ones, as they come.

    A first label that is a boolean stands for both, since the other one will come. Labels 0 and 1, or -1 and +1, are
    kept as they are.

    Examples
    --------
    >>> from stream_maxloss.classes import Classes
    >>> classes = Classes()
    >>> classes.add("ham"), classes.add("spam"), classes.add("ham")
    (0, 1, 0)
    >>> classes.labels
    ['ham', 'spam']

    """

    def __init__(self) -> None:
        self._set({})

    def _set(self, numbers: dict[Hashable, int]) -> None:
        self._numbers = numbers
        # Labels in the order of their numbers, and the scores that an expert needs: one for two, else one a class.
        self.labels: list[Hashable] = list(numbers)
        self.outputs = 1 if len(numbers) <= 2 else len(numbers)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def is_binary(self) -> bool:
        """Whether the labels are those of the binary learners: booleans, 0/1 or -1/+1."""
        return 0 < len(self) <= 2 and all(label in SIGNS for label in self._numbers)

    @property
    def positive(self) -> int:
        """The number of the positive one of binary labels."""
        return self._numbers.get(1, 1 - next(iter(self._numbers.values()), 0) if len(self) < 2 else 1)

    def find(self, label: Hashable) -> int | None:
        """Return the number of a label, None if it was never seen."""
        return self._numbers.get(label)

    def add(self, label: Any, place: str = "") -> int:
        """Return the number of a label, a new one if it was never seen.

        Raises
        ------
        ValueError
            If the label is missing or cannot be a key.

        """
        label = label.item() if isinstance(label, np.generic) else label
        try:
            number = self._numbers.get(label)
        except TypeError:
            number = None
            label = _Unhashable(label)
        if number is not None:
            return number
        if label is None or label != label or isinstance(label, _Unhashable):
            raise ValueError(f"label{place} must be a class, got {label!r}; leave the row out")
        if label is True or label is False:
            for other in (False, True):
                self._numbers.setdefault(other, len(self._numbers))
        self._numbers.setdefault(label, len(self._numbers))
        self._set(self._numbers)
        return self._numbers[label]

    def add_many(self, labels: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the number of each label, and how many scores an expert needs from each row on.

        Raises
        ------
        RowError
            If a label is refused. The classes are then as before.

        """
        array = as_array(labels)
        known = len(self)
        outputs = np.full(len(array), self.outputs, dtype=np.int64)
        if array.dtype == np.bool_ and {False, True} <= self._numbers.keys():
            both = np.array([self._numbers[False], self._numbers[True]], dtype=np.float64)
            return both[array.view(np.uint8)], outputs
        column = array.tolist()
        try:
            numbers: list[int | None] = list(map(self._numbers.get, column))
        except TypeError:
            numbers = [None] * len(column)
        try:
            for row, number in enumerate(numbers):
                if number is None:
                    numbers[row] = self._add_row(column[row], row)
                    if self.outputs != outputs[row]:
                        outputs[row:] = self.outputs
        except ValueError:
            self.truncate(known)
            raise
        return np.array(numbers, dtype=np.float64), outputs

    def _add_row(self, label: Any, row: int) -> int:
        try:
            return self.add(label, f" of row {row}")
        except ValueError as error:
            raise RowError(row, str(error)) from error

    def name(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Return the labels of numbers: a column of booleans or whole numbers if all labels are, else of objects."""
        if all(isinstance(label, bool) for label in self.labels):
            return np.array(self.labels, dtype=np.bool_)[numbers]
        named = np.empty(len(self.labels), dtype=object)
        named[:] = self.labels
        if all(type(label) is int and abs(label) < 1 << 62 for label in self.labels):
            named = named.astype(np.int64)
        picked: NDArray[Any] = named[numbers]
        return picked

    def truncate(self, length: int) -> None:
        """Forget the classes that were added last, down to `length` of them."""
        if len(self) > length:
            self._set({label: number for label, number in self._numbers.items() if number < length})

    def state_dict(self) -> dict[str, Any]:
        """Return the labels as JSON.

        Raises
        ------
        ValueError
            If a label is neither text, a number nor a boolean.

        """
        for label in self._numbers:
            if not isinstance(label, str | int | float):
                raise ValueError(f"a label must be text, a number or a boolean to be saved, got {label!r}")
        return {"labels": self.labels}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over the labels of `state_dict`."""
        labels = state["labels"]
        is_fit = isinstance(labels, list) and all(isinstance(label, str | int | float) for label in labels)
        # A whole number that no array of answers could hold.
        is_fit = is_fit and not any(isinstance(label, int) and abs(label) >= 1 << 63 for label in labels)
        if not is_fit or len(set(labels)) < len(labels):
            raise ValueError(f"labels must be different texts or numbers, got {labels!r:.100}")
        self._set({label: number for number, label in enumerate(labels)})


class _Unhashable:
    """Something that cannot be a label, to be shown as it is."""

    def __init__(self, label: object) -> None:
        self._label = label

    def __repr__(self) -> str:
        return repr(self._label)
