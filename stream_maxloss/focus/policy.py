"""How the game weighs rows: the policies of the player.

A policy says so itself, in three plain functions that are compiled into the loop of the game. Nothing else knows the
kinds of policies that there are, so one from another package works like those below::

    class Linear(Policy):
        @staticmethod
        def raised(weight, others, rows, exponent, settings):
            return weight * (1.0 + exponent)

"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["Capped", "Corrected", "Credible", "Exponential", "Policy", "Slices", "Uniform", "make_policy"]


class Policy:
    """Base of the policies.

    A subclass defines `raised`, if it likes `seen` and `stride`, and `settings` if these take numbers. Its
    attributes are the arguments that made it, so that `stream_maxloss.checkpoint.register_value` can allow it in
    checkpoints.
    """

    draws_evenly: bool = False
    """Whether all draws are by chance, as with `gamma=1`."""

    by_slice: bool = False
    """Whether slices have the weights and not rows; `raised` is then given those of slices."""

    @property
    def settings(self) -> tuple[float, ...]:
        """The numbers that the functions are given."""
        return ()

    @staticmethod
    def seen(loss: float, settings: Any) -> float:
        """Return the loss that the player sees, given the learner's, both in [0, 1]. Compiled."""
        return loss

    @staticmethod
    def stride(rows: float, probability: float, settings: Any) -> float:
        """Return what the learner's step on a replayed row is multiplied by. Compiled."""
        return 1.0

    @staticmethod
    def raised(weight: float, others: float, rows: float, exponent: float, settings: Any) -> float:
        """Return the new weight of the row that was drawn. Compiled, as a function of its own.

        Parameters
        ----------
        weight
            Its weight v_i.
        others
            The weight of all other rows together.
        rows
            The number n of rows held.
        exponent
            eta loss / p_i, with the loss as `seen` and what slack leaves of it; up to 300 in size.
        settings
            What `settings` returned.

        """
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self).__name__, *vars(self).values()))


class Exponential(Policy):
    """Exponential weights, v_i <- v_i exp(eta loss_i / p_i): the game for the maximal loss.

    This is the player of Shalev-Shwartz and Wexler (2016, section 2.3), and what their theorem 1 is about.

    References
    ----------
    Shai Shalev-Shwartz and Yonatan Wexler. Minimizing the maximal loss: how and why? ICML 2016.

    """

    @staticmethod
    def raised(weight: float, others: float, rows: float, exponent: float, settings: Any) -> float:
        """Return v exp(eta loss / p)."""
        return weight * math.exp(exponent)


class Uniform(Policy):
    """Even draws whatever the loss: uniform replay, the baseline that a game has to beat."""

    draws_evenly = True

    @staticmethod
    def raised(weight: float, others: float, rows: float, exponent: float, settings: Any) -> float:
        """Return the weight as it is."""
        return weight


class Capped(Policy):
    """Exponential weights of which no row has more than 1/(alpha n): the game for the mean of the worst share of rows.

    The player's set {q : q_i <= 1/(alpha n)} makes max_q sum_i q_i loss_i the conditional value at risk, the mean over
    the alpha n rows of highest loss: the mean loss at alpha = 1, the maximal loss at alpha <= 1/n. Curi et al. (2020)
    play it with sets of alpha n rows. Here only the row that was drawn gains weight, so the projection onto the
    set in relative entropy is exact in one step::

        v_i <- min(v_i exp(eta loss_i / p_i), sum_{j != i} v_j / (alpha n - 1))

    When rows come and go, a row at the cap may lie above it until it is drawn.

    Parameters
    ----------
    alpha
        Share of rows that the game is about, in (0, 1]. Raising it forgives more rows.
    beta
        The learner's steps are shortened as `Corrected` does it; 0 is not at all.

    References
    ----------
    Sebastian Curi, Kfir Levy, Stefanie Jegelka and Andreas Krause. Adaptive sampling for stochastic risk-averse
    learning. NeurIPS 2020.

    Examples
    --------
    >>> from stream_maxloss.focus.player import Player
    >>> from stream_maxloss.focus.policy import Capped
    >>> player = Player(capacity=4, gamma=0.5, seed=1, policy=Capped(alpha=0.5))
    >>> for slot in range(4):
    ...     player.admit(slot)
    >>> for _ in range(100):
    ...     slot, probability = player.draw()
    ...     player.update(slot, probability, loss=1.0 if slot == 1 else 0.0)
    >>> (player.weights() / player.weights().sum()).round(2).tolist()
    [0.17, 0.5, 0.17, 0.17]

    """

    def __init__(self, alpha: float = 0.5, beta: float = 0.0) -> None:
        if not 0.0 < alpha <= 1.0:
            raise ValueError(f"alpha must lie in (0, 1], got {alpha!r}; it is the share of rows that the game is about")
        self.alpha = alpha
        self.beta = checked_beta(beta)

    @property
    def settings(self) -> tuple[float, ...]:
        """The share and the exponent."""
        return self.alpha, self.beta

    @staticmethod
    def stride(rows: float, probability: float, settings: Any) -> float:
        """Return min(1, 1/(n p))^beta."""
        often = rows * probability
        return often ** -settings[1] if often > 1.0 else 1.0

    @staticmethod
    def raised(weight: float, others: float, rows: float, exponent: float, settings: Any) -> float:
        """Return v exp(eta loss / p), or what the cap leaves of it."""
        wanted, free = weight * math.exp(exponent), settings[0] * rows - 1.0
        return min(wanted, others / free) if free > 0.0 and others > 0.0 else wanted


class Corrected(Policy):
    """Exponential weights, with shorter steps on rows that are drawn more often than by chance.

    The learner takes min(1, 1/(n p_i))^beta of a step on the row drawn. At beta = 0 this is `Exponential`. At beta = 1
    the steps are those of the mean loss in expectation, on rows chosen so that they vary less (importance sampling);
    in between the learner is pulled towards hard rows, but no row can pull it at will. Schaul et al. (2016) correct
    prioritised replay so; they divide by the largest weight of a batch, where we stop at 1.

    Parameters
    ----------
    beta
        Exponent, in [0, 1]. Raising it goes from the maximal to the mean loss.

    References
    ----------
    Tom Schaul, John Quan, Ioannis Antonoglou and David Silver. Prioritized experience replay. ICLR 2016.

    """

    def __init__(self, beta: float = 0.5) -> None:
        self.beta = checked_beta(beta)

    @property
    def settings(self) -> tuple[float, ...]:
        """The exponent."""
        return (self.beta,)

    @staticmethod
    def stride(rows: float, probability: float, settings: Any) -> float:
        """Return min(1, 1/(n p))^beta."""
        often = rows * probability
        return often ** -settings[0] if often > 1.0 else 1.0

    @staticmethod
    def raised(weight: float, others: float, rows: float, exponent: float, settings: Any) -> float:
        """Return v exp(eta loss / p)."""
        return weight * math.exp(exponent)


class Credible(Policy):
    """Exponential weights by losses that count as far as the label can be believed.

    If labels are flipped with probability epsilon, and a model that gives this one the probability 1 - l is right, then
    the label is true with probability::

        c(l) = (1 - epsilon)(1 - l) / ((1 - epsilon)(1 - l) + epsilon l)

    which is one minus the alpha_i of Krause and Singer (2004, Figure 1), and the player sees l c(l). Rows near
    the boundary and rows that are wrong by a little call for replays; a row that the model is sure about and that has
    the other label calls for none. Meant for `loss="probability"`: a clipped hinge loss is 1 on every wrong row.

    Parameters
    ----------
    epsilon
        Share of wrong labels, in (0, 1/2). Raising it forgives rows that are wrong by less.

    References
    ----------
    Nir Krause and Yoram Singer. Leveraging the margin more carefully. ICML 2004.

    """

    def __init__(self, epsilon: float = 0.05) -> None:
        if not 0.0 < epsilon < 0.5:
            raise ValueError(f"epsilon must lie in (0, 0.5), got {epsilon!r}; it is the share of wrong labels")
        self.epsilon = epsilon

    @property
    def settings(self) -> tuple[float, ...]:
        """The share."""
        return (self.epsilon,)

    @staticmethod
    def seen(loss: float, settings: Any) -> float:
        """Return l c(l)."""
        true, flipped = (1.0 - settings[0]) * (1.0 - loss), settings[0] * loss
        return loss * true / (true + flipped)

    @staticmethod
    def raised(weight: float, others: float, rows: float, exponent: float, settings: Any) -> float:
        """Return v exp(eta loss / p)."""
        return weight * math.exp(exponent)


class Slices(Policy):
    """Exponential weights over named slices: the game for the worst slice's mean loss.

    A slice g of n_g rows has one weight q_g, shared by its rows, so that with n rows held::

        P(g) = gamma n_g/n + (1 - gamma) q_g/Q        q_g <- q_g exp(eta loss_i / P(g))    for the row i of g drawn

    In expectation ln q_g grows by eta times the mean loss of g, as in group DRO (Sagawa et al. 2020, Algorithm 1), and
    slices start alike as they do there. They draw slices evenly and multiply the learner's step by q_g; here rows are
    drawn by q_g, and steps are whole. Each slice has a window of its own, an equal part of the slots, so that a rare
    one is remembered for longer (unless `admission` says otherwise).

    A row's slice comes with it: `learn_one(x, y, slice="mail")`, `learn_many(X, y, slices=[...])`, on the command line
    the column of `--slice-by`. It is no feature, and predictions need none. Names beyond 256 share one slice.

    References
    ----------
    Shiori Sagawa, Pang Wei Koh, Tatsunori Hashimoto and Percy Liang. Distributionally robust neural networks for group
    shifts. ICLR 2020.

    Examples
    --------
    Of every fifty rows one is of a slice that goes by another rule:

    >>> import random
    >>> from stream_maxloss import FocusedClassifier, Logistic
    >>> def rare_recall(policy):
    ...     draw, model, right = random.Random(1), FocusedClassifier(Logistic(), seed=1, policy=policy), []
    ...     for row in range(3000):
    ...         rare, a = row % 50 == 0, draw.uniform(-1, 1)
    ...         x, y = {"a": a, "rare": float(rare), "both": a * rare}, (a > 0) != rare
    ...         if rare:
    ...             right.append(model.predict_one(x) == y)
    ...         model.learn_one(x, y, **({"slice": rare} if policy == "slices" else {}))
    ...     return sum(right) / len(right)
    >>> rare_recall("uniform") < rare_recall("slices")
    True

    """

    by_slice = True

    @staticmethod
    def raised(weight: float, others: float, rows: float, exponent: float, settings: Any) -> float:
        """Return q exp(eta loss / P)."""
        return weight * math.exp(exponent)


def checked_beta(beta: float) -> float:
    """Return an exponent in [0, 1]."""
    if not 0.0 <= beta <= 1.0:
        raise ValueError(f"beta must lie in [0, 1], got {beta!r}; 0 is the maximal loss, 1 the mean")
    return beta


def make_policy(policy: str | Policy) -> Policy:
    """Return the policy that a name stands for, or the policy itself.

    Raises
    ------
    ValueError
        If it is neither.
    TypeError
        If the policy does not say how weights rise.

    """
    named = {
        "exponential": Exponential,
        "uniform": Uniform,
        "capped": Capped,
        "corrected": Corrected,
        "credible": Credible,
        "slices": Slices,
    }
    if isinstance(policy, Policy):
        if type(policy).raised is Policy.raised:
            raise TypeError(f"a policy must define raised(), got {policy!r}; see Policy.raised")
        return policy
    if isinstance(policy, str) and policy in named:
        return named[policy]()
    listed = ", ".join(repr(name) for name in named)
    raise ValueError(
        f"policy must be one of {listed}, or a Policy object, got {policy!r}; Capped(alpha=...) takes a parameter"
    )
