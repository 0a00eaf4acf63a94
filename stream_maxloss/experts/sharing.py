"""Weights of experts by their likelihood, with fixed share; and what they guarantee."""

from __future__ import annotations

import math
from typing import Any

from stream_maxloss.machine.compiled import compiled

__all__ = ["FLOOR", "mix_rows", "regret_bound"]

# Every expert keeps this much for all classes together: what it holds for impossible costs it no more than a
# logarithm of this.
FLOOR = 1e-6


def regret_bound(experts: int, share: float, rows: int, switches: int = 0) -> float:
    r"""Return by how much the log loss of the mixture can exceed that of the best sequence of experts.

    For any sequence of experts that switches m times within T rows (Herbster and Warmuth 1998, for log loss),

    $$\sum_t \ell_t \le \sum_t \ell_{t,k_t} + \ln K + m \ln \frac{K}{a} + (T - 1 - m) \ln \frac{1}{1 - a + a/K},$$

    since the mixture is the average over all sequences, in which an expert stays with probability 1 - a + a/K and
    gives way to a certain other one with a/K. Without share and switches ln K remains: exponentiated weights, of whose
    regret `Regret Minimization` in Mansour's lecture and Lemma 5 of Shalev-Shwartz and Wexler (2016) speak, with the
    step 1 that log loss allows.

    Parameters
    ----------
    experts, share
        K and a.
    rows, switches
        T and m.

    Examples
    --------
    >>> from stream_maxloss.experts.sharing import regret_bound
    >>> round(regret_bound(experts=8, share=0.0, rows=1000), 3)
    2.079

    """
    if switches and not share:
        return math.inf
    stay = (rows - 1 - switches) * -math.log(1.0 - share + share / experts)
    return math.log(experts) + stay + (switches * math.log(experts / share) if switches else 0.0)


@compiled
def mix_rows(
    said: Any, counts: Any, numbers: Any, w: Any, prior: Any, share: float, clock: Any, history: Any, mixed: Any
) -> None:
    """Mix what experts say of each row, and weigh them by the class that it had.

    Parameters
    ----------
    said
        (rows, experts, classes) what each expert says, changed in place to the probabilities that are mixed.
    counts
        How many classes had come before each row.
    numbers, w
        The class of each row, negative where nothing is learned, and its sample weight.
    prior
        The weight of each expert.
    share
        How much of all weight is spread evenly after each row.
    clock, history
        Rows so far, rows between two entries of the history, and entries; the weights at those.
    mixed
        (rows, classes) room for the mixture.

    """
    experts = prior.shape[0]
    for i in range(said.shape[0]):
        count = counts[i]
        for c in range(mixed.shape[1]):
            mixed[i, c] = 0.0
        for k in range(experts):
            total = 0.0
            for c in range(count):
                total += said[i, k, c]
            for c in range(count):
                part = said[i, k, c] / total if 0.0 < total < math.inf else 1.0 / count
                said[i, k, c] = (1.0 - FLOOR) * part + FLOOR / count
                mixed[i, c] += prior[k] * said[i, k, c]
        if count == 2:
            # The smaller one as a difference, which is exact, so that either is 1 minus the other to the bit.
            larger = 0 if mixed[i, 0] >= mixed[i, 1] else 1
            mixed[i, larger] = min(mixed[i, larger], 1.0)
            mixed[i, 1 - larger] = 1.0 - mixed[i, larger]
        if numbers[i] < 0:
            continue
        # Of a class that no row had yet, and of the only one, all experts say the same.
        if numbers[i] < count and count > 1:
            best = 0.0
            for k in range(experts):
                best = max(best, said[i, k, numbers[i]])
            total = 0.0
            for k in range(experts):
                prior[k] *= math.exp(w[i] * math.log(said[i, k, numbers[i]] / best))
                total += prior[k]
            for k in range(experts):
                prior[k] = (1.0 - share) * prior[k] / total + share / experts
        clock[0] += 1
        if clock[0] % clock[1] == 0:
            if clock[2] == history.shape[0]:
                # Every second entry makes room for as many rows again.
                for j in range(history.shape[0] // 2):
                    history[j] = history[2 * j + 1]
                clock[1] *= 2
                clock[2] = history.shape[0] // 2
            if clock[0] % clock[1] == 0:
                history[clock[2]] = prior
                clock[2] += 1
