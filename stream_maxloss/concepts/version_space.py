"""The concepts of a finite class that agree with every row so far."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from river import base

from stream_maxloss.concepts.stump import Stump
from stream_maxloss.errors import StreamMaxlossError

__all__ = [
    "Concept",
    "ContradictionError",
    "Label",
    "OnContradiction",
    "VersionSpace",
    "ask",
    "check_on_contradiction",
    "plain_label",
]

OnContradiction = Literal["raise", "reset", "keep"]


class ContradictionError(StreamMaxlossError, ValueError):
    """The rows seen so far agree with no concept of the class, so no mistake bound holds.

    Parameters
    ----------
    row
        How many rows the learner had seen with the contradicting one, counted from 1.
    reason
        What the row said and what the remaining concepts said.

    Examples
    --------
    >>> from stream_maxloss.concepts import ContradictionError
    >>> raise ContradictionError(7, "label True, but both remaining concepts say False")
    Traceback (most recent call last):
    ...
    stream_maxloss.concepts.version_space.ContradictionError: no concept is consistent after row 7: ...

    """

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(
            f"no concept is consistent after row {row}: {reason}; "
            "pass on_contradiction='reset' or 'keep' if the stream is noisy or drifts"
        )
        self.row = row
        self.reason = reason

    def __reduce__(self) -> tuple[type[ContradictionError], tuple[int, str]]:
        # The default rebuilds from the finished message and would miss an argument.
        return type(self), (self.row, self.reason)


def check_on_contradiction(policy: str) -> None:
    """Refuse a policy that does not exist."""
    if policy not in get_args(OnContradiction):
        raise ValueError(f"on_contradiction must be one of {get_args(OnContradiction)}, got {policy!r}")


Label: TypeAlias = bool | int | str
Concept: TypeAlias = Callable[[Mapping[Any, Any]], Label] | base.Classifier


class VersionSpace(base.Classifier, abc.ABC):
    """A classifier that predicts from the set of consistent concepts, C_t.

    The two learners of this kind differ in one choice only, `_elect`: which label the answers of C_t make.
    Everything else lives here: asking the concepts, striking out the ones that erred, contradictions, counts.
    """

    def __init__(self, concepts: Iterable[Concept], on_contradiction: OnContradiction = "raise") -> None:
        if not isinstance(concepts, Iterable):
            raise TypeError(f"concepts must be several concepts, got {concepts!r}; put a single one into a list")
        self.concepts = list(concepts)
        self.on_contradiction = on_contradiction
        check_on_contradiction(on_contradiction)
        if not self.concepts:
            raise ValueError("concepts must hold at least one concept, got []; a mistake bound needs a class")
        for index, concept in enumerate(self.concepts):
            if not (callable(concept) or hasattr(concept, "predict_one")):
                raise TypeError(
                    f"concepts[{index}] must be a callable or a fitted River classifier, got {concept!r}; "
                    "a concept maps a row to a label"
                )
        self._alive = list(range(len(self.concepts)))
        self._labels: dict[Label, None] = {}
        self._n_rows = 0
        self._n_mistakes = 0
        self._n_contradictions = 0

    @abc.abstractmethod
    def _elect(self, answers: list[Label | None]) -> Label | None:
        """Turn the answers of the remaining concepts, in their order, into one label."""

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def alive(self) -> list[int]:
        """Indices into `concepts` of those that agree with every row since the last reset."""
        return list(self._alive)

    @property
    def mistakes(self) -> int:
        """Rows whose label was not what the learner said just before learning them."""
        return self._n_mistakes

    @property
    def contradictions(self) -> int:
        """Rows that no remaining concept explained."""
        return self._n_contradictions

    def learn_one(self, x: dict[Any, Any], y: Label) -> None:
        """Strike out the concepts that answer `x` with anything but `y`."""
        label = plain_label(y)
        answers = self._answers(x)
        self._n_rows += 1
        self._n_mistakes += self._elect(answers) != label
        self._labels.setdefault(label)
        agreeing = [index for index, answer in zip(self._alive, answers, strict=True) if answer == label]
        if agreeing:
            self._alive = agreeing
        else:
            self._contradict(x, label)

    def _contradict(self, x: dict[Any, Any], label: Label) -> None:
        self._n_contradictions += 1
        if self.on_contradiction == "reset":
            everyone = range(len(self.concepts))
            # A label that no concept ever gives leaves nothing to start from but the whole class.
            self._alive = [i for i in everyone if ask(self.concepts[i], x) == label] or list(everyone)
        elif self.on_contradiction == "raise":
            count = len(self._alive)
            remaining = "the last remaining concept says" if count == 1 else f"all {count} remaining concepts say"
            raise ContradictionError(self._n_rows, f"the label is {label!r}, and {remaining} otherwise")

    def _answers(self, x: dict[Any, Any]) -> list[Label | None]:
        return [ask(self.concepts[index], x) for index in self._alive]

    def _label_keys(self, *answers: Label | None) -> dict[Label, float]:
        """Return every label known so far with probability 0, so that no seen label is missing from the answer."""
        known = [*self._labels, *(answer for answer in answers if answer is not None)]
        if known and all(isinstance(label, bool) for label in known):
            known += [False, True]
        return dict.fromkeys(known, 0.0)

    def state_dict(self) -> dict[str, Any]:
        """Return what was learned: the mask of consistent concepts and the counters (not the concepts)."""
        mask = np.zeros(len(self.concepts), dtype=np.bool_)
        mask[self._alive] = True
        return {
            "alive": mask,
            "labels": list(self._labels),
            "rows": self._n_rows,
            "mistakes": self._n_mistakes,
            "contradictions": self._n_contradictions,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`, over the same concepts in the same order."""
        mask = np.asarray(state["alive"], dtype=np.bool_)
        if mask.shape != (len(self.concepts),):
            raise ValueError(
                f"state must come from a learner over {len(self.concepts)} concepts, got a mask of shape {mask.shape}"
            )
        self._alive = [int(index) for index in np.flatnonzero(mask)]
        self._labels = dict.fromkeys(state["labels"])
        self._n_rows = int(state["rows"])
        self._n_mistakes = int(state["mistakes"])
        self._n_contradictions = int(state["contradictions"])

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        # No finite class of stumps explains River's noisy check data, so "raise" would end every check at once.
        features = ("ip_in_url", "is_popular", "https", "long_url", "empty_server_form_handler")
        stumps = [Stump(feature, t, above) for feature in features for t in (0.5, 1.0) for above in (True, False)]
        yield {"concepts": stumps, "on_contradiction": "keep"}
        yield {"concepts": stumps, "on_contradiction": "reset"}


def ask(concept: Concept, x: dict[Any, Any]) -> Label | None:
    """Return a concept's label for one row; an untrained River model has none."""
    answer = concept.predict_one(x) if hasattr(concept, "predict_one") else concept(x)
    return plain_label(answer)


def plain_label(label: Any) -> Any:
    """Turn a numpy scalar into the Python value it stands for, so that labels compare, hash and print alike."""
    return label.item() if isinstance(label, np.generic) else label
