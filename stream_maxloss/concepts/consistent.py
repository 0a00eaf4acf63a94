"""CON: predict with any concept that agrees with the past."""

from __future__ import annotations

from typing import Any

from stream_maxloss.concepts.version_space import Label, VersionSpace, ask

__all__ = ["Consistent"]


class Consistent(VersionSpace):
    """The consistent learner, CON, over a finite class of concepts.

    At time t, C_t holds the concepts that agree with every row so far. CON predicts h_t(x_t) for an arbitrary
    h_t in C_t (ours: the first, in the order given, so put the likeliest concept first) and then drops from C_t
    every concept that x_t contradicts. A mistake costs at least the concept that made it, and the target is
    never dropped, so CON makes at most |C| - 1 mistakes on a stream that some concept explains (lecture notes
    *Online Algorithms*, "CON Algorithm"). `Halving` asks all of C_t and needs only log2 |C|.

    Parameters
    ----------
    concepts
        The class C: callables from a row (a dict) to a label, or fitted River classifiers, which are asked but
        never trained. They are kept, not copied: training one elsewhere changes what it answers here. A model
        that answers None abstains, and disagrees with every label.
    on_contradiction
        What a row does that no remaining concept explains. "raise" (default): `ContradictionError`, naming the
        row; the remaining concepts stay as they were before it. "keep": pass over the row, which suits a few
        flipped labels. "reset": start again from the concepts that explain this row, which suits a target that
        changes. The mistake bound holds between contradictions only.

    Notes
    -----
    Learning asks every concept of C_t once; predicting asks one. `alive`, `mistakes`, `mistake_bound` and
    `contradictions` report on the run: on a realisable stream `mistakes <= mistake_bound` always.

    Examples
    --------
    >>> from stream_maxloss.concepts import Consistent, Stump
    >>> model = Consistent([Stump("celsius", t) for t in range(0, 50, 10)])
    >>> for celsius in (45, 5, 35, 15, 25, 38):
    ...     model.learn_one({"celsius": celsius}, celsius >= 30)
    >>> model.predict_one({"celsius": 31}), model.alive, model.mistakes, model.mistake_bound
    (True, [3], 3, 4)

    """

    @property
    def mistake_bound(self) -> int:
        """|C| - 1: no realisable stream makes CON err more often."""
        return len(self.concepts) - 1

    def _elect(self, answers: list[Label | None]) -> Label | None:
        return answers[0]

    def predict_one(self, x: dict[Any, Any]) -> Label | None:
        """Return the label of the first consistent concept."""
        return ask(self.concepts[self._alive[0]], x)

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[Label, float]:
        """Return probability 1 for the label of the first consistent concept; nothing if it abstains."""
        answer = self.predict_one(x)
        return {} if answer is None else {**self._label_keys(answer), answer: 1.0}
