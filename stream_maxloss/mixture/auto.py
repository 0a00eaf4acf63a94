"""What the classifier and the regressor without knobs share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.arguments import require_choice, require_count
from stream_maxloss.card import Table, card
from stream_maxloss.machine.lanes import LANES
from stream_maxloss.mixture.experts import LEVELS, expert_names, replaying_names
from stream_maxloss.mixture.hard import HardRow, HardSlot, hardest_slots
from stream_maxloss.mixture.mixing import OBJECTIVES, STACKS
from stream_maxloss.mixture.model import MixtureModel
from stream_maxloss.mixture.reasons import Reason
from stream_maxloss.mixture.stepping import PART

__all__ = ["Auto"]


class Auto:
    """A mixture that can be asked what it is made of."""

    memory: int
    compute: str
    seed: int | None
    objective: str
    _model: MixtureModel

    def _make_model(self, kind: int) -> MixtureModel:
        """Return a mixture with the parameters of this model, which are checked."""
        require_count("memory", self.memory, "10_000 rows are a good start")
        require_choice("compute", self.compute, tuple(LEVELS))
        require_choice("objective", self.objective, tuple(OBJECTIVES))
        model = MixtureModel(kind, self.memory, self.compute, self.seed)
        model.memory["scale"][PART] = OBJECTIVES[self.objective]
        return model

    @property
    def lock(self) -> Any:
        """Held by the thread that learns or asks."""
        return self._model.lock

    @property
    def n_rows(self) -> int:
        """Number of rows learned."""
        return self._model.n_rows

    @property
    def memory_bytes(self) -> int:
        """Bytes held, without the names of the features."""
        return self._model.memory_bytes

    @property
    def is_native(self) -> bool:
        """Whether whole batches run in kernels: always."""
        return True

    def _repr_html_(self) -> str:
        """Show parameters, the experts and the hardest rows in a notebook."""
        facts = {"rows": self.n_rows, "memory_bytes": self.memory_bytes}
        experts = sorted(self.weights().items(), key=lambda item: -item[1])
        hard = self.hardest(5) if self.n_rows else []
        tables: list[Table] = [
            ("experts", ["expert", "weight"], experts[:8]),
            ("hardest rows", ["loss", "label", "row"], [[row.loss, row.y, row.x] for row in hard]),
        ]
        return card(type(self).__name__, self._get_params(), facts, tables)  # type: ignore[attr-defined]

    def _names(self) -> list[str]:
        """Return the names of the experts and stacks."""
        return expert_names(self.compute, self._model.memory.is_wide)[: len(self._model.memory["prior"])]

    def weights(self) -> dict[str, float]:
        """Return the weight pi_k of every expert and stack: what the stream has chosen so far.

        Examples
        --------
        >>> from stream_maxloss.mixture import AutoClassifier
        >>> len(AutoClassifier().weights())
        19

        """
        return dict(zip(self._names(), self._model.memory["prior"].tolist(), strict=True))

    def history(self) -> dict[int, dict[str, float]]:
        """Return the weights over time: after how many rows, who had which weight; at most 64 entries.

        An entry is made every 64 rows; once there are 64 of them, every second one goes and the interval doubles.

        Examples
        --------
        >>> from river import datasets
        >>> from stream_maxloss.mixture import AutoClassifier
        >>> model = AutoClassifier(seed=1)
        >>> for x, y in datasets.Phishing().take(200):
        ...     model.learn_one(x, y)
        >>> list(model.history())
        [64, 128, 192]

        """
        names, history = self._names(), self._model.history
        return {
            rows: dict(zip(names, weights.tolist(), strict=True))
            for rows, weights in zip(history.rows, history.weights, strict=True)
        }

    def hardest(self, k: int = 10) -> list[HardRow]:
        """Return the rows of the window that weigh most in the game, the hardest first, each with its reasons.

        None where nothing is replayed, with `compute="least"`: no rows are kept then. Where many labels are wrong, rows
        with labels that are not believed weigh little (see `stream_maxloss.mixture.credence`).

        Examples
        --------
        >>> from river import datasets
        >>> from stream_maxloss.mixture import AutoClassifier
        >>> model = AutoClassifier(seed=1)
        >>> for x, y in datasets.Phishing().take(500):
        ...     model.learn_one(x, y)
        >>> hard = model.hardest(3)
        >>> len(hard), hard[0].weight >= hard[1].weight, sorted(hard[0].x)[:2]
        (3, True, ['age_of_domain', 'anchor_from_other_domain'])

        """
        require_count("k", k, "10 rows are a good start")
        with self.lock:
            return [self._hard_row(found) for found in hardest_slots(self._model.memory, k)] if self.keeps_rows else []

    @property
    def keeps_rows(self) -> bool:
        """Whether rows are kept to be replayed, and can be shown."""
        return LEVELS[self.compute].replays > 0

    def _hard_row(self, found: HardSlot) -> HardRow:
        """Return what is kept of a row."""
        model = self._model
        answers, values = model.recall(found.slot)
        label, loss, output, sign = self._judge(float(model.memory["kept_target"][found.slot]), answers)
        reasons = [Reason(part.condition, sign * part.contribution) for part in model.reasons(output, values)]
        names, w = model.features.names, float(model.memory["kept_w"][found.slot])
        x = {names[column]: value for column, value in values.items()}
        return HardRow(x, label, w, found.weight, found.probability, loss, found.age, reasons)

    def _judge(self, target: float, answers: NDArray[np.float64]) -> tuple[Any, float, int, float]:
        """Return the label of a kept target, its loss in [0, 1], the output that speaks for it, and with which sign."""
        raise NotImplementedError

    def focus_weight(self) -> float:
        """Return the weight of all experts that replay hard rows of the window, by themselves and within the stacks.

        A stack counts with the share of its coefficients, by size, that belongs to replaying experts.
        """
        prior, stack = self._model.memory["prior"], self._model.memory["stack"]
        experts = self._model.memory.level.planes * LANES
        bare = experts - len(replaying_names(self.compute))
        sizes = np.abs(stack[:, :experts])
        shares = sizes[:, bare:].sum(axis=1) / np.maximum(sizes.sum(axis=1), 1e-300)
        return float(prior[bare:experts].sum() + prior[experts : experts + STACKS] @ shares)
