"""ELIM: disjunctions of literals over boolean features."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np
from river import base

from stream_maxloss.concepts.version_space import (
    ContradictionError,
    OnContradiction,
    check_on_contradiction,
    plain_label,
)

__all__ = ["Elimination"]


class Elimination(base.Classifier):
    """The elimination learner, ELIM: an OR of literals, from which negative rows delete.

    The target is a disjunction such as z_1 or not z_4 or z_7. ELIM starts with all 2n literals, predicts their
    OR, and on a negative row deletes every literal that the row makes true. The target's literals are never
    deleted, so ELIM errs on negative rows only; the first such mistake deletes n literals and each later one at
    least one, at most n + 1 mistakes in all (lecture notes *Online Algorithms*, "Analysis of ELIM").

    On a stream the features need not be known beforehand: one that is absent (missing or null) is false. So
    the first negative row decides every negated literal, also those of features yet to come, and memory grows
    with the features that have appeared, not with the rows. n is the number of distinct features seen.

    Parameters
    ----------
    threshold
        None (default): features must be boolean (True, False, 0 or 1), and anything else is refused by name.
        A number: a feature is true where its value is at least this.
    on_contradiction
        What a positive row does that no remaining literal covers: no disjunction is consistent then. "raise"
        (default): `ContradictionError`, naming the row. "keep": pass over it. "reset": start again from all
        literals. ELIM keeps no rows, so a negative row that contradicts an *earlier* positive one is noticed
        when the next such positive row comes.

    Raises
    ------
    ValueError
        When a feature is not boolean, naming the feature (and, while learning, the row), or a label not binary.

    Examples
    --------
    >>> from stream_maxloss.concepts import Elimination
    >>> model = Elimination()
    >>> for a, b, c in [(0, 0, 1), (1, 1, 1), (0, 1, 1), (1, 0, 0), (0, 0, 0)]:
    ...     model.learn_one({"a": a, "b": b, "c": c}, bool(a or not c))
    >>> model.literals
    ['a', 'not c']
    >>> model.predict_one({"a": False, "b": True, "c": False}), model.mistakes, model.mistake_bound
    (True, 2, 4)

    """

    def __init__(self, threshold: float | None = None, on_contradiction: OnContradiction = "raise") -> None:
        if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, int | float)):
            raise ValueError(f"threshold must be a number or None, got {threshold!r}; None takes booleans only")
        self.threshold = threshold
        self.on_contradiction = on_contradiction
        check_on_contradiction(on_contradiction)
        # The literal z of every feature is in L_t unless its value here is False.
        self._plain: dict[Hashable, bool] = {}
        # The features whose negation is in L_t; None stands for all of them, before the first negative row.
        self._negated: dict[Hashable, None] | None = None
        self._n_rows = 0
        self._n_mistakes = 0
        self._n_contradictions = 0

    @property
    def literals(self) -> list[str]:
        """The literals that remain, L_t, over the features seen so far."""
        negated = self._plain if self._negated is None else self._negated
        plain = [str(name) for name, remains in self._plain.items() if remains]
        return sorted(plain) + sorted(f"not {name}" for name in negated)

    @property
    def mistakes(self) -> int:
        """Rows whose label was not what the learner said just before learning them."""
        return self._n_mistakes

    @property
    def contradictions(self) -> int:
        """Positive rows that no remaining literal covered."""
        return self._n_contradictions

    @property
    def mistake_bound(self) -> int:
        """The bound n + 1, with n the number of distinct features seen."""
        return len(self._plain) + 1

    def learn_one(self, x: dict[Any, Any], y: bool | int) -> None:
        """On a negative row, delete every literal that the row makes true."""
        positive = self._is_positive(y)
        true, false = self._split(x, f"row {self._n_rows + 1}: ")
        covered = self._is_covered(true)
        self._n_rows += 1
        self._n_mistakes += covered != positive
        for name in sorted((*true, *false), key=str):
            self._plain.setdefault(name, True)
        if not positive:
            self._delete(true)
        elif not covered:
            self._contradict()

    def predict_one(self, x: dict[Any, Any]) -> bool:
        """Return whether any remaining literal is true of the row."""
        return self._is_covered(self._split(x, "")[0])

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[bool, float]:
        """Return probability 1 for the prediction."""
        covered = self.predict_one(x)
        return {False: float(not covered), True: float(covered)}

    def _is_covered(self, true: set[Hashable]) -> bool:
        if self._negated is None:
            return True
        return any(self._plain.get(name, True) for name in true) or any(name not in true for name in self._negated)

    def _delete(self, true: set[Hashable]) -> None:
        self._plain.update(dict.fromkeys(sorted(true, key=str), False))
        survivors = sorted(true, key=str) if self._negated is None else [f for f in self._negated if f in true]
        self._negated = dict.fromkeys(survivors)

    def _contradict(self) -> None:
        self._n_contradictions += 1
        if self.on_contradiction == "reset":
            self._plain = dict.fromkeys(self._plain, True)
            self._negated = None
        elif self.on_contradiction == "raise":
            raise ContradictionError(self._n_rows, "the label is positive, and no remaining literal is true of the row")

    def _split(self, x: Mapping[Any, Any], where: str) -> tuple[set[Hashable], set[Hashable]]:
        true = {name for name, value in x.items() if self._truth(name, value, where)}
        return true, x.keys() - true

    def _truth(self, name: Hashable, value: Any, where: str) -> bool:
        value = plain_label(value)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return False
        if self.threshold is not None and isinstance(value, int | float):
            return value >= self.threshold
        if isinstance(value, int | float) and value in (0, 1):
            return bool(value)
        remedy = "one-hot encode it" if isinstance(value, str) else "pass threshold= to cut numbers in two"
        raise ValueError(f"{where}feature {name!r} must be boolean, got {value!r}; {remedy}")

    def _is_positive(self, y: Any) -> bool:
        label = plain_label(y)
        if isinstance(label, int | float) and label in (-1, 0, 1):
            return label == 1
        raise ValueError(
            f"row {self._n_rows + 1}: label must be binary (True/False, 0/1 or -1/+1), got {label!r}; "
            "wrap the learner in river.multiclass.OneVsRest"
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the remaining literals, by feature, and the counters."""
        names = list(self._plain)
        negated = self._plain if self._negated is None else self._negated
        return {
            "features": names,
            "plain": np.array([self._plain[name] for name in names], dtype=np.bool_),
            "negated": np.array([name in negated for name in names], dtype=np.bool_),
            "all_negated": self._negated is None,
            "rows": self._n_rows,
            "mistakes": self._n_mistakes,
            "contradictions": self._n_contradictions,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`."""
        names = state["features"]
        self._plain = {name: bool(remains) for name, remains in zip(names, state["plain"], strict=True)}
        kept = [name for name, remains in zip(names, state["negated"], strict=True) if remains]
        self._negated = None if state["all_negated"] else dict.fromkeys(kept)
        self._n_rows = int(state["rows"])
        self._n_mistakes = int(state["mistakes"])
        self._n_contradictions = int(state["contradictions"])

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        # River's check data has features of 0, 0.5 and 1 and labels that no disjunction explains.
        yield {"threshold": 0.5, "on_contradiction": "keep"}
        yield {"threshold": 1.0, "on_contradiction": "reset"}
