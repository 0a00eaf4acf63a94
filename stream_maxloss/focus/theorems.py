"""What the theorems about the maximal loss ask for: rounds, snapshots and rows, from an accuracy and a confidence."""

from __future__ import annotations

import math

__all__ = ["rounds_needed", "sample_size", "snapshots_needed"]


def check_open_unit(**numbers: float) -> None:
    """Refuse numbers outside (0, 1)."""
    for name, value in numbers.items():
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} must lie in (0, 1), got {value!r}; 0.05 is usual for delta, 0.49 for a majority")


def rounds_needed(rows: int, epsilon: float = 0.49, delta: float = 0.05) -> int:
    """Return T, the rounds after which every row's mean loss over the rounds is below epsilon (theorem 1).

    Shalev-Shwartz and Wexler (2016) state T of the order m log(m/delta)/epsilon. Their proof (appendix A.2, with eta =
    1/(2m) and the learner's regret below epsilon/8) uses two explicit bounds, of which we take the larger: the player's
    regret, 2 m ln(m)/T <= epsilon/8, and the concentration of its estimates, T >= 6 m ln(m/delta)/(epsilon/8)^2.

    Parameters
    ----------
    rows
        The number m of rows in the game.
    epsilon
        The loss that each row may keep; below 1/2 a majority of zero-one losses is right (corollary 1).
    delta
        The chance of failing.

    Examples
    --------
    >>> from stream_maxloss.focus.theorems import rounds_needed
    >>> rounds_needed(100)
    1215638

    """
    check_open_unit(epsilon=epsilon, delta=delta)
    require_rows(rows)
    regret = 16.0 * rows * math.log(rows) / epsilon
    concentration = 384.0 * rows * math.log(rows / delta) / epsilon**2
    return math.ceil(max(regret, concentration))


def snapshots_needed(rows: int, epsilon: float = 0.49, delta: float = 0.05) -> int:
    """Return k, the snapshots whose mean loss on every row stays below epsilon if that of all rounds does (theorem 1).

    The mean over all rounds is at most 3 epsilon/4. By Bernstein's inequality the mean over k rounds drawn from them
    lies epsilon/4 higher on one of m rows with probability at most m exp(-3 k epsilon/80), hence k = (80/3)
    ln(m/delta)/epsilon.

    Parameters
    ----------
    rows, epsilon, delta
        As for `rounds_needed`.

    Examples
    --------
    >>> from stream_maxloss.focus.theorems import snapshots_needed
    >>> snapshots_needed(10_000)
    665

    """
    check_open_unit(epsilon=epsilon, delta=delta)
    require_rows(rows)
    return math.ceil(80.0 / 3.0 * math.log(rows / delta) / epsilon)


def sample_size(
    epsilon: float,
    delta: float,
    dimension: float,
    rare_share: float,
    rare_dimension: float | None = None,
    gap: float | None = None,
    constant: float = 1.0,
) -> int:
    """Return m, the rows after which a consistent model errs by at most epsilon on common and on rare rows (theorem 2).

    m = C ((d ln(1/epsilon) + ln(1/delta))/epsilon + (d' ln(1/c) + ln(1/delta))/(c lambda)), d and d' the
    VC dimensions of all models and of those that are good on the common rows, lambda the share of rare rows, and c
    the gap: a model good on common rows errs on rare ones by at most epsilon or by more than c. Few rare rows suffice
    where d' is small and c large.

    Parameters
    ----------
    epsilon, delta
        The error and the chance of failing.
    dimension
        d.
    rare_share
        lambda, in (0, 1/2).
    rare_dimension
        d'; None for d, which promises nothing beyond an ordinary sample of rare rows.
    gap
        c, from epsilon to 1; None for epsilon.
    constant
        C: the paper leaves it open, so m is known up to this factor.

    Examples
    --------
    A thousandth of the rows is rare. If common rows leave one of ten dimensions open, far fewer will do:

    >>> from stream_maxloss.focus.theorems import sample_size
    >>> sample_size(0.01, 0.05, dimension=10, rare_share=0.001)
    4909649
    >>> sample_size(0.01, 0.05, dimension=10, rare_share=0.001, rare_dimension=1, gap=0.3)
    18904

    """
    check_open_unit(epsilon=epsilon, delta=delta)
    if not 0.0 < rare_share < 0.5:
        raise ValueError(f"rare_share must lie in (0, 0.5), got {rare_share!r}; it is the share of rare rows")
    c = epsilon if gap is None else gap
    if not epsilon <= c < 1.0:
        raise ValueError(f"gap must lie in [{epsilon!r}, 1), got {gap!r}; leave it None for no gap")
    rare = dimension if rare_dimension is None else rare_dimension
    common = (dimension * math.log(1.0 / epsilon) + math.log(1.0 / delta)) / epsilon
    return math.ceil(constant * (common + (rare * math.log(1.0 / c) + math.log(1.0 / delta)) / (c * rare_share)))


def require_rows(rows: int) -> None:
    """Refuse fewer than one row."""
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows!r}; it is the number of rows in the game")
