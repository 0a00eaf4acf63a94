"""`TaughtFerns`: leaves of ferns that are fitted to what they do not explain yet."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_maxloss.arguments import require_choice, require_count
from stream_maxloss.described import check_name
from stream_maxloss.expand.edges import edges_of
from stream_maxloss.expand.ferns import MOST_EDGES, MOST_TESTS, leaf_of, rest_of, values_in
from stream_maxloss.expand.lesson import fit_fern
from stream_maxloss.expand.taught_window import TaughtWindow
from stream_maxloss.features import text_feature
from stream_maxloss.random import make_generator, next_below

__all__ = ["TaughtFerns"]

# Columns that a lesson looks at.
CANDIDATES = 30
SHRINKAGE = 0.2
RIDGE = 5.0
LARGEST_STEP = 3.0

Test = tuple[Hashable, float]


# River's pipelines (0.26) pass a row that is learned through a `Transformer` only; its checks ask the other name.
class TaughtFerns(base.SupervisedTransformer, base.Transformer):
    """Add to a row the leaves that it falls into, of ferns that were taught by the labels.

    Every `lesson` rows a new fern is fitted to the rows of a window by boosting. Let F be the sum of what the leaves of
    a row stand for, p = sigma(F) (softmax for several classes, F itself for numbers) and r = y - p: the `depth` tests
    of the fern are those that part the residuals best (see `expand.lesson`), each of its leaves stands for a shrunken
    Newton step, 0.2 sum r / (sum p (1 - p) + 5), and F moves by it. Once there are as many ferns as there may be, the
    fern that moves F least on the window gives its place, and the leaves of that place get new names.

    It is what `AutoClassifier` does with its own ferns, for pipelines with other learners. It sees the label, so it
    learns row by row. Each leaf is a feature `fern 7=19` of value 1/sqrt(ferns), as with `Ferns`.

    Parameters
    ----------
    ferns
        Number of ferns.
    depth
        Tests of a fern, up to 16.
    window
        Rows that a lesson is given on.
    lesson
        Rows between two lessons.
    keep
        What of the row stays beside the leaves: `"text"`, `"all"` or `"none"`.
    seed
        Seed of the draws; None for a new one each time.

    Notes
    -----
    A target that is a float is a number to be predicted; any other is a class.

    References
    ----------
    Liudmila Prokhorenkova et al. CatBoost: unbiased boosting with categorical features. NeurIPS 2018.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_maxloss.expand import TaughtFerns
    >>> from stream_maxloss.linear import Logistic
    >>> model = TaughtFerns(seed=1) | Logistic()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 8...%

    """

    def __init__(
        self,
        ferns: int = 50,
        depth: int = 6,
        window: int = 2000,
        lesson: int = 50,
        keep: str = "text",
        seed: int | None = None,
    ) -> None:
        require_count("ferns", ferns, "50 are a good start")
        require_count("depth", depth, "6 are a good start")
        if depth > MOST_TESTS:
            raise ValueError(f"depth must be at most {MOST_TESTS}, got {depth!r}; 6 is a good start")
        require_count("window", window, "2_000 rows are a good start")
        require_count("lesson", lesson, "50 rows are a good start")
        require_choice("keep", keep, ("text", "all", "none"))
        self.ferns = ferns
        self.depth = depth
        self.window = window
        self.lesson = lesson
        self.keep = keep
        self.seed = seed
        self._generator = make_generator(seed)
        self._window = TaughtWindow(window, ferns)
        # Of each fern: its tests, which class it speaks of, what its leaves stand for, and how often its place was
        # given away.
        self._tests: list[list[Test]] = []
        self._outputs: list[int] = []
        self._steps: list[NDArray[np.float64]] = []
        self._changes: list[int] = []

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:
        """Take a row and its label into account.

        Raises
        ------
        ValueError
            If a value is infinite or the label is missing. Nothing is learned then.

        """
        values = values_in(x)
        leaves = [leaf_of(values, tests) for tests in self._tests]
        said = [(self._outputs[fern], self._steps[fern][leaf]) for fern, leaf in enumerate(leaves)]
        self._window.add(values, y, leaves, said)
        if self._window.seen % self.lesson == 0:
            self._teach()

    def _teach(self) -> None:
        """Fit a fern to what is left, unless no column can be split."""
        window = self._window
        names = sorted({name for row in window.values for name in row}, key=str)
        for place in range(min(CANDIDATES, len(names))):
            other = place + next_below(self._generator, len(names) - place)
            names[place], names[other] = names[other], names[place]
        columns = [(name, window.column(name)) for name in names[:CANDIDATES]]
        edges = [(name, column, edges_of(column, MOST_EDGES)) for name, column in columns]
        edges = [(name, column, found) for name, column, found in edges if len(found)]
        if not edges:
            return
        fern = self._place()
        output, residuals, curvatures = window.residuals(self._generator)
        codes = np.array([np.searchsorted(found, column) for _, column, found in edges], dtype=np.uint8)
        tests = np.zeros((2, self.depth), dtype=np.int64)
        leaf = np.zeros(len(residuals), dtype=np.uint64)
        counts = np.array([len(found) for _, _, found in edges], dtype=np.int64)
        fit_fern(codes, counts, residuals, tests, leaf)
        chosen = [(edges[candidate][0], float(edges[candidate][2][edge])) for candidate, edge in tests.T.tolist()]
        leaves = leaf.astype(np.int64)
        wrong, known = (np.bincount(leaves, part, 1 << self.depth) for part in (residuals, curvatures))
        steps = np.clip(SHRINKAGE * wrong / (known + RIDGE), -LARGEST_STEP, LARGEST_STEP)
        self._tests[fern], self._outputs[fern], self._steps[fern] = chosen, output, steps
        window.move(fern, leaves, output, steps)

    def _place(self) -> int:
        """Return the place of the next fern: a new one, or that of the one that moves scores least, which goes."""
        if len(self._tests) < self.ferns:
            self._tests.append([])
            self._outputs.append(0)
            self._steps.append(np.zeros(1 << self.depth))
            self._changes.append(0)
            return len(self._tests) - 1
        kept = [self._window.leaves_of(fern) for fern in range(self.ferns)]
        weight = [float(np.abs(steps[leaves]).sum()) for steps, leaves in zip(self._steps, kept, strict=True)]
        fern = int(np.argmin(weight))
        self._window.move(fern, kept[fern], self._outputs[fern], -self._steps[fern])
        self._changes[fern] += 1
        return fern

    def transform_one(self, x: dict[Hashable, Any]) -> dict[Hashable, float]:
        """Return the leaf of each fern, and what is kept of the row."""
        values = values_in(x)
        value = 1.0 / math.sqrt(self.ferns)
        features: dict[Hashable, float] = {}
        for fern, tests in enumerate(self._tests):
            name = f"fern {fern}" + (f".{self._changes[fern]}" if self._changes[fern] else "")
            features[text_feature(name, str(leaf_of(values, tests)))] = value
        features.update(rest_of(x, values, self.keep))
        return features

    def conditions(self, fern: int) -> list[str]:
        """Return the tests of a fern in words, the first bit of its leaves first."""
        return [f"{name} > {threshold:.6g}" for name, threshold in self._tests[fern]]

    def state_dict(self) -> dict[str, Any]:
        """Return what was learned, as JSON and arrays."""
        return {
            "tests": [[list(test) for test in tests] for tests in self._tests],
            "outputs": list(self._outputs),
            "changes": list(self._changes),
            "steps": np.array(self._steps).reshape(len(self._steps), 1 << self.depth),
            "generator": self._generator.copy(),
            "window": self._window.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` of a transformer with the same parameters returned.

        Raises
        ------
        ValueError
            If it is of other parameters.

        """
        tests = [[(check_name(name), float(threshold)) for name, threshold in one] for one in state["tests"]]
        outputs, changes, steps = state["outputs"], state["changes"], np.asarray(state["steps"], dtype=np.float64)
        is_counted = all(isinstance(one, int) and one >= 0 for one in (*outputs, *changes))
        fits = len(tests) <= self.ferns and all(len(one) == self.depth for one in tests)
        if not (fits and is_counted and len(outputs) == len(changes) == len(tests)):
            raise ValueError(
                f"state must be of {self.ferns} ferns of depth {self.depth}; load it with the same parameters"
            )
        if steps.shape != (len(tests), 1 << self.depth) or not np.isfinite(steps).all():
            raise ValueError(f"steps must be finite, one a leaf of {len(tests)} ferns, got {steps.shape}")
        window = TaughtWindow(self.window, self.ferns)
        window.load_state_dict(state["window"], self.depth)
        if len(state["generator"]) != len(self._generator):
            raise ValueError(f"generator must have {len(self._generator)} words, got {len(state['generator'])}")
        self._generator[:] = state["generator"]
        self._tests, self._outputs, self._changes, self._steps = tests, outputs, changes, list(steps)
        self._window = window
