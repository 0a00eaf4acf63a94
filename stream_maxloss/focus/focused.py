"""What the focused classifier and the focused regressor share: learn the row that came, then replay hard ones."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base, compose

from stream_maxloss.card import Table, card
from stream_maxloss.focus.admission import Admission
from stream_maxloss.focus.game import Game, check_count, replay_entry_point
from stream_maxloss.focus.hard_row import HardRow
from stream_maxloss.focus.native import NativeReplay
from stream_maxloss.focus.policy import Policy
from stream_maxloss.focus.slack import Slack
from stream_maxloss.focus.theorems import snapshots_needed
from stream_maxloss.focus.window import RowWindow, column_values, iterate_frame
from stream_maxloss.linear.batch_checks import row_weights
from stream_maxloss.linear.scaler import Scaler
from stream_maxloss.protocol import Answers
from stream_maxloss.state import part_of

__all__ = ["Focused", "checked_loss", "predicts_probabilities"]


def predicts_probabilities(model: Any) -> bool:
    """Return whether a classifier says it can predict probabilities, looking through pipelines and wrappers."""
    if isinstance(model, compose.Pipeline):
        return predicts_probabilities(model._last_step)
    if getattr(type(model), "predict_proba_one", None) in (None, base.Classifier.predict_proba_one):
        return False
    inner = model._wrapped_model if isinstance(model, base.Wrapper) else None
    return not isinstance(inner, base.Classifier) or predicts_probabilities(inner)


class Focused(base.Wrapper):
    """Base of the focused estimators; not to be used itself.

    A subclass sets its parameters, calls `_begin` and defines `_loss_of`.
    """

    window: int
    replays: int | None
    gamma: float
    eta: float | None
    share: float
    admission: str | Admission
    slack: Slack | float | None
    output: str
    snapshots: int | None
    span: str
    seed: int | None
    policy: str | Policy

    def _begin(self, outputs: tuple[str, ...]) -> None:
        if self.output not in outputs:
            listed = ", ".join(repr(name) for name in outputs)
            raise ValueError(
                f"output must be one of {listed}, got {self.output!r}; 'last' predicts with the learner itself"
            )
        snapshots = snapshots_needed(self.window) if self.snapshots is None else self.snapshots
        check_count("snapshots", snapshots, 1, "it is the number of copies of the learner to keep")
        kept = snapshots if self.output != "last" else 0
        self._game = Game(
            self.window,
            self.replays,
            self.gamma,
            self.eta,
            self.share,
            self.admission,
            self.slack,
            kept,
            self.span,
            self.seed,
            self.policy,
        )
        self._rows = RowWindow(self.window)
        self._snapshots: list[Any] = []
        self._native = self._make_native()

    def _make_native(self) -> NativeReplay | None:
        """Return the fast way, if the learner is one of ours and the loss is known to the kernels."""
        return None

    def _target_of(self, y: Any) -> float:
        raise NotImplementedError

    def _targets_of(self, y: Any) -> NDArray[np.float64]:
        raise NotImplementedError

    def _forget_refused(self) -> None:
        """Forget the labels of rows that were refused."""

    def _loss_of(self, x: Any, y: Any, keywords: dict[str, Any]) -> float:
        raise NotImplementedError

    @property
    def weights(self) -> dict[Hashable, float]:
        """What the learner inside has learned: feature name -> weight.

        Raises
        ------
        AttributeError
            If it is no linear learner.

        """
        inner: Any = self._wrapped_model
        inner = getattr(inner, "_last_step", inner)
        if not hasattr(inner, "weights"):
            raise AttributeError(f"weights must come from a linear learner, got {type(inner).__name__}, which has none")
        return dict(inner.weights)

    def learn_one(self, x: Any, y: Any, **kwargs: Any) -> None:
        """Learn a row, let it into the window, and replay.

        Parameters
        ----------
        x, y
            The row and its label.
        kwargs
            Passed on to the learner, and again whenever the row is replayed; `w` is River's sample weight. But for
            `slice`, which names the row's slice for `policy="slices"` and is for the game alone.

        """
        name = self._take_slice(kwargs) if kwargs else None
        if self._native is not None:
            try:
                self._native.learn(x, self._target_of(y), only_weight(kwargs) if kwargs else 1.0, name)
            except Exception:
                self._forget_refused()
                raise
            return
        self._wrapped_model.learn_one(x, y, **kwargs)
        slot = self._game.admit(y, name)
        if slot >= 0:
            self._rows.put(slot, x, y, kwargs)
        if self._game.replays and self._game.size:
            self._replay(self._game.replays)

    @property
    def takes_slices(self) -> bool:
        """Whether rows come with the name of their slice: with `policy="slices"`."""
        return self._game.by_slice

    def _take_slice(self, keywords: dict[str, Any], name: str = "slice") -> Any:
        if name in keywords and not self.takes_slices:
            raise TypeError(f"{name} must come with policy='slices', got it with {self.policy!r}; leave it out")
        return keywords.pop(name, None)

    def slice_weights(self) -> dict[Hashable, float]:
        """Return the share of the game's weight that each slice in the window has; none unless `policy="slices"`."""
        return self._game.roster.shares()

    def replay(self, rounds: int) -> None:
        """Play rounds on the rows of the window as they are, without a new one: for idle time, or a fixed sample.

        With `replays=0` and a window that holds a whole sample this is the batch algorithm of Shalev-Shwartz and
        Wexler (2016, section 2.3): learn the sample once, then replay T rounds. Over our own learners the rounds run
        inside one kernel.

        Parameters
        ----------
        rounds
            How many rows to replay, each drawn anew; an empty window plays none.

        Examples
        --------
        >>> import pandas as pd
        >>> from stream_maxloss.focus import FocusedClassifier
        >>> from stream_maxloss.linear import Perceptron
        >>> frame = pd.DataFrame({"a": [0.01] * 100, "b": [1.0] * 99 + [-0.02]})
        >>> focused = FocusedClassifier(Perceptron(intercept=False), window=100, replays=0, seed=1)
        >>> focused.learn_many(frame, [True] * 100)
        >>> int(focused.predict_many(frame).sum())
        99
        >>> focused.replay(1000)
        >>> int(focused.predict_many(frame).sum())
        100

        """
        check_count("rounds", rounds, 0, "it is the number of rows to replay")
        if self._native is not None:
            self._native.replay(int(rounds))
        elif rounds and self._game.size:
            self._replay(int(rounds))

    def learn_many(self, X: Any, y: Any, **kwargs: Any) -> None:
        """Learn the rows of a frame one after the other, just as `learn_one` would.

        `w` may be one for each row, and `slices` has a name for each, for `policy="slices"`.
        """
        names = self._take_slice(kwargs, "slices")
        if self._native is not None:
            self.answer_learn_many(X, y, only_weight(kwargs), names)
            return
        named = None if names is None else column_values(names)
        w = kwargs.pop("w", None)
        weights = w if w is None or np.ndim(w) == 0 else column_values(w)
        for number, (x, label) in enumerate(iterate_frame(X, y)):
            if weights is not None:
                kwargs["w"] = weights[number] if isinstance(weights, list) else weights
            self.learn_one(x, label, **kwargs, **({} if named is None else {"slice": named[number]}))

    @property
    def is_native(self) -> bool:
        """Whether whole batches run in kernels: if the learner is native and its loss is not a Python function."""
        return self._native is not None

    @property
    def takes_scaled(self) -> bool:
        """Whether rows can be scaled in a kernel: hashed features have lost the names that a scaler goes by."""
        return self._native is not None and self._native.model.features.grows

    def answer_many(self, X: Any) -> Answers:
        """Predict every row of a frame and learn nothing."""
        native = self._require_native()
        return self._answers_of(native.scores(X), native.snapshots > 0)

    def answer_learn_many(self, X: Any, y: Any, w: Any = 1.0, slices: Any = None) -> Answers:
        """Predict each row of a frame, then learn it with its replays; return what was said before."""
        return self.answer_learn_scaled(None, X, y, w, slices)

    def answer_learn_scaled(self, scaler: Scaler | None, X: Any, y: Any, w: Any = 1.0, slices: Any = None) -> Answers:
        """Do the same, each row scaled as it comes and kept as it was scaled."""
        native = self._require_native()
        try:
            targets = self._targets_of(y)
            names = None if slices is None else column_values(slices)
            scores = native.learn_frame(X, targets, row_weights(w, len(targets)), scaler, names)
        except Exception:
            self._forget_refused()
            raise
        return self._answers_of(scores, np.arange(len(scores)) >= native.alone)

    def _require_native(self) -> NativeReplay:
        if self._native is None:
            raise TypeError(f"the learner must be native to answer whole batches, got {self._wrapped_model!r}")
        return self._native

    def _answers_of(self, scores: NDArray[np.float64], by_snapshots: Any) -> Answers:
        raise NotImplementedError

    def _replay(self, rounds: int) -> None:
        game = self._game
        player, slack, schedule = game.player, game.slack, game.schedule
        rows, loss_of = self._rows.rows, self._loss_of
        learn = getattr(self._wrapped_model, "relearn_one", self._wrapped_model.learn_one)
        policy, settings = player.policy, player.policy.settings
        keeps, forgives, corrects = schedule.plan[0] > 0, slack.active, type(policy).stride is not Policy.stride
        finish, handle = replay_entry_point(type(policy).raised, policy.by_slice), game.handle
        slot, probability = finish(handle, -1, 0.0, 0.0, True)
        for left in range(rounds - 1, -1, -1):
            x, y, keywords, shared = rows[slot]
            if keeps:
                self._keep(schedule.place())
            loss = policy.seen(loss_of(x, y, shared), settings)
            if corrects:
                part = policy.stride(float(game.size), probability, settings)
                # Not all learners take a weight, and most policies leave it alone.
                keywords = {**keywords, "w": keywords.get("w", 1.0) * part} if part != 1.0 else keywords
            if not (slack.is_hard and slack.get(slot)):
                learn(x, y, **keywords)
            if forgives:
                left_over = slack.left_of(slot, loss)
                slack.step(slot, loss)
                loss = left_over
            slot, probability = finish(handle, slot, probability, loss, left > 0)

    def _keep(self, place: int) -> None:
        if place < 0:
            return
        snapshot = copy.deepcopy(self._wrapped_model)
        if place == len(self._snapshots):
            self._snapshots.append(snapshot)
        else:
            self._snapshots[place] = snapshot

    def held_rows(self) -> NDArray[np.int64]:
        """Return the numbers of the rows that the window holds, counted from 0 in the order in which rows came."""
        return self._game.arrived[: self._game.size] - 1

    def _repr_html_(self) -> str:
        """Show parameters, the state of the game and the hardest rows in a notebook."""
        hard = [[row.loss, row.weight, row.y, row.x] for row in self.hardest(5)]
        tables: list[Table] = [("hardest rows", ["loss", "weight", "label", "row"], hard)]
        tables.append(("slices", ["slice", "share of the weight"], self.slice_weights().items()))
        return card(type(self).__name__, self._get_params(), self.describe(), tables)

    def hardest(self, k: int = 10) -> list[HardRow]:
        """Return the k rows of the window with the highest weight, highest first."""
        weights = self._game.weights()
        total = weights.sum()
        probabilities, ages = self._game.probabilities() if len(weights) else weights, self._game.ages()
        order = np.argsort(-weights, kind="stable")[:k]
        found = []
        for slot in order.tolist():
            x, y, w, loss = self._inspect(slot)
            found.append(
                HardRow(
                    x=x,
                    y=y,
                    w=w,
                    weight=float(weights[slot] / total),
                    probability=float(probabilities[slot]),
                    loss=loss,
                    age=int(ages[slot]),
                    replays=int(self._game.replayed[slot]),
                )
            )
        return found

    def _inspect(self, slot: int) -> tuple[Any, Any, float, float]:
        """Return the row of a slot with its label, sample weight and current loss."""
        if self._native is not None:
            x, target, w = self._native.row(slot)
            return x, self._label_of(target), w, self._native.loss(slot)
        x, y, keywords, shared = self._rows.rows[slot]
        return copy.deepcopy(x), y, float(keywords.get("w", 1.0)), self._loss_of(x, y, shared)

    def _label_of(self, target: float) -> Any:
        return target

    def describe(self) -> dict[str, float]:
        """Return the state of the game in a few numbers, while the stream runs.

        Returns
        -------
        dict
            `rows` held of `window`, `arrivals` and `replays` so far, `effective_rows` (1/sum q^2: how many rows the
            game is about), `top_1_percent_share` of the weight, `slack_spent`, and `memory_bytes` of rows and game.

        """
        return {**self._game.describe(), "memory_bytes": self.memory_bytes}

    @property
    def memory_bytes(self) -> int:
        """Bytes held by the window and the game, without the learner."""
        return self._game.nbytes + (self._rows if self._native is None else self._native).nbytes

    def state_dict(self) -> dict[str, Any]:
        """Return window and game as a flat dictionary of arrays and JSON values; the learner is not part of it.

        Raises
        ------
        ValueError
            If there are snapshots of a learner that is not ours.

        """
        if self._snapshots:
            raise ValueError(
                f"output must be 'last' to save a focused learner without pickle, got {self.output!r}; "
                "its snapshots are whole models of another library"
            )
        state = {f"game.{key}": value for key, value in self._game.state_dict().items()}
        rows = self._rows if self._native is None else self._native
        state.update({f"rows.{key}": value for key, value in rows.state_dict().items()})
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up the window and the game of an estimator of the same parameters."""
        self._game.load_state_dict(part_of(state, "game"))
        rows = self._rows if self._native is None else self._native
        rows.load_state_dict(part_of(state, "rows"))
        if self._native is None and len(self._rows.rows) != self._game.size:
            raise ValueError(f"rows must be the {self._game.size} of the game, got {len(self._rows.rows)}")


def only_weight(keywords: dict[str, Any]) -> Any:
    """Return the sample weight, the one keyword that our learners take."""
    if keywords.keys() - {"w"}:
        raise TypeError(f"a row may come with the keyword w only, got {sorted(keywords)}; this learner takes no other")
    return keywords.get("w", 1.0)


def checked_loss(loss: float, name: str | Callable[..., float]) -> float:
    """Return a loss in [0, 1], forgiving only rounding.

    Raises
    ------
    ValueError
        If the loss is not a number or leaves [0, 1].

    """
    if 0.0 <= loss <= 1.0:
        return float(loss)
    if -1e-9 <= loss <= 1.0 + 1e-9:
        return min(1.0, max(0.0, float(loss)))
    raise ValueError(f"loss must lie in [0, 1], got {loss!r} from {name!r}; scale or clip it")
