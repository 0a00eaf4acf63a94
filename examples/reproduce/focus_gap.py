"""Shalev-Shwartz & Wexler 2016, Section 3.1: the gap example, Lemmas 1 to 3."""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from batch_game import rounds_until, slope, start
from report import write_report

from stream_maxloss.linear import HingeOGD, Perceptron

GRID = [0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001]
FIXED = 0.001
DELTA = 0.05
SEEDS = 5
RATES = [0.1, 1.0, 30.0]
FOL, PERCEPTRON = "FOL (Perceptron), majority", "Perceptron, fresh rows"
# One step size is swept, the others are measured at one point: Lemma 2 holds for any.
HINGE = "hinge SGD (lr 1), fresh rows"
# Where the order 0.4/(alpha epsilon) is beyond this, uniform draws are left out; the orders show before.
MOST = 1e6


def sample_size(epsilon: float) -> int:
    """Give the m of Lemma 1."""
    return math.ceil(2.0 * math.log(4.0 / DELTA) / epsilon)


def order(alpha: float, epsilon: float) -> float:
    """Give the order of Lemma 3 with its logarithm."""
    m = sample_size(epsilon)
    return m * math.log(m) + 1.0 / alpha


def draw(rng: np.random.Generator, m: int, alpha: float, epsilon: float) -> tuple[pd.DataFrame, np.ndarray]:
    """Return m rows y z with z = z1 = (alpha, 1), or z = z2 = (alpha, -2 alpha) with probability epsilon."""
    signs = rng.choice([-1.0, 1.0], size=m)
    second = np.where(rng.random(m) < epsilon, -2.0 * alpha, 1.0)
    return pd.DataFrame({"a": signs * alpha, "b": signs * second}), signs > 0


def is_right(model, alpha: float) -> bool:
    """Tell whether z1 and z2 have positive scores; the other two kinds are their negatives."""
    kinds = pd.DataFrame({"a": [alpha, alpha, -alpha, -alpha], "b": [1.0, -2.0 * alpha, -1.0, 2.0 * alpha]})
    return bool((model.predict_many(kinds).to_numpy() == [True, True, False, False]).all())


def play(alpha: float, epsilon: float, seed: int) -> float:
    """Rounds of FOL on a sample of Lemma 1's size until its vote has generalisation error 0."""
    rng = np.random.default_rng(seed)
    frame, labels = draw(rng, sample_size(epsilon), alpha, epsilon)
    focused = start(Perceptron(intercept=False), frame, labels, output="majority", seed=seed)
    return rounds_until(focused, lambda: is_right(focused, alpha), math.inf)


def stream(learner, alpha: float, epsilon: float, seed: int) -> float:
    """Rows drawn afresh from the distribution until the learner has generalisation error 0."""
    rng, steps = np.random.default_rng(seed), 0
    while steps == 0 or not is_right(learner, alpha):
        count = max(1, min(steps // 20, 200_000))
        learner.learn_many(*draw(rng, count, alpha, epsilon))
        steps += count
    return steps


def measure(name: str, alpha: float, epsilon: float, seed: int, rate: float = 1.0) -> float:
    """Steps of one algorithm until generalisation error 0."""
    if name == FOL:
        return play(alpha, epsilon, seed)
    if name == PERCEPTRON:
        return stream(Perceptron(intercept=False), alpha, epsilon, seed)
    return stream(HingeOGD(lr=rate, schedule="constant", intercept=False), alpha, epsilon, seed)


def missed_kinds(trials: int, epsilon: float) -> float:
    """Return how often a sample of Lemma 1's size lacks one of the four kinds of rows."""
    rng = np.random.default_rng(0)
    shares = [(1.0 - epsilon) / 2.0, (1.0 - epsilon) / 2.0, epsilon / 2.0, epsilon / 2.0]
    return float((rng.multinomial(sample_size(epsilon), shares, size=trials) == 0).any(axis=1).mean())


def main() -> None:
    """Sweep alpha, epsilon and both, and write the page."""
    sweeps = {
        "alpha": [(value, FIXED) for value in GRID],
        "epsilon": [(FIXED, value) for value in GRID],
        "both": [(value, value) for value in GRID],
    }
    points = sorted({point for sweep in sweeps.values() for point in sweep}, key=lambda p: p[0] * p[1])
    settings = [
        (name, *point, seed, 1.0)
        for name in (FOL, PERCEPTRON, HINGE)
        for point in points
        for seed in range(SEEDS)
        if name == FOL or 0.4 / (point[0] * point[1]) <= MOST
    ]
    settings += [(HINGE, 0.003, 0.003, seed, rate) for rate in RATES for seed in range(SEEDS)]
    with ProcessPoolExecutor(2) as pool:
        played = list(pool.map(measure, *zip(*settings, strict=True), chunksize=4))
    collected: dict[tuple[str, float, float, float], list[float]] = {}
    for (name, alpha, epsilon, _, rate), count in zip(settings, played, strict=True):
        collected.setdefault((name, alpha, epsilon, rate), []).append(count)
    medians = {key: float(np.median(values)) for key, values in collected.items()}
    write_page(sweeps, medians)


def write_page(sweeps, medians) -> None:
    """Draw the sweeps and write what was found."""
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.6), sharey=True)
    exponents = {}
    for axis, (swept, sweep) in zip(axes, sweeps.items(), strict=True):
        for name, marker in ((FOL, "o"), (PERCEPTRON, "s"), (HINGE, "^")):
            found = [(p, medians[name, *p, 1.0]) for p in sweep if (name, *p, 1.0) in medians]
            inverse = [1.0 / (p[1] if swept == "epsilon" else p[0]) for p, _ in found]
            axis.loglog(inverse, [value for _, value in found], marker=marker, label=name)
            # Where 0.4/(alpha epsilon) < m ln m, FOL is done before the player has had any say.
            last = 3 if name == FOL else 5
            exponents[swept, name] = slope(inverse[-last:], [value for _, value in found][-last:])
        x = 1.0 / np.array(GRID)
        alpha = np.full(len(x), FIXED) if swept == "epsilon" else 1.0 / x
        epsilon = np.full(len(x), FIXED) if swept == "alpha" else 1.0 / x
        axis.loglog(x, list(map(order, alpha, epsilon)), "k--", label="m ln m + 1/alpha, m of Lemma 1")
        axis.loglog(x, 0.4 / (alpha * epsilon), "k:", label="2/(5 alpha epsilon), Lemma 2's proof")
        axis.grid(alpha=0.3)
    axes[0].set(xlabel="1/alpha", ylabel="steps until error 0 (median)", title=f"epsilon = {FIXED}")
    axes[1].set(xlabel="1/epsilon", title=f"alpha = {FIXED}")
    axes[2].set(xlabel="1/alpha = 1/epsilon", title="alpha = epsilon")
    axes[0].legend(fontsize=7.5)
    listed = {
        name: " / ".join(f"{exponents[swept, name]:.2f}" for swept in sweeps) for name in (FOL, PERCEPTRON, HINGE)
    }
    at = (FIXED, FIXED, 1.0)
    rates = ", ".join(f"{medians[HINGE, 0.003, 0.003, rate]:,.0f} (lr {rate:g})" for rate in RATES)
    missed = missed_kinds(100_000, 0.01)
    write_report(
        "focus_gap",
        "The gap example, Lemmas 1 to 3 (Shalev-Shwartz & Wexler 2016, Section 3.1)",
        f"""
Rows are y z with z = (alpha, 1), or z = (alpha, -2 alpha) with probability epsilon, and y = -1 or +1 by chance. FOL
plays on a sample of the size of Lemma 1 with delta = {DELTA}, m = 2 ln(4/delta)/epsilon, held in the window of
`FocusedClassifier(Perceptron())`, until the majority of its snapshots is right on all four kinds of rows, the first
pass over the sample included; the bare Perceptron and SGD on the hinge loss see fresh rows until they are. Medians
of {SEEDS} runs; exponents are fitted to the last three (FOL) or five points of each sweep: alpha at epsilon = {FIXED} /
epsilon at alpha = {FIXED} / alpha = epsilon.

Lemma 3's rounds are m log m for the sampling player and 1/alpha for the Perceptron. With m = {sample_size(FIXED):,}
rows at epsilon = {FIXED} the first rules all over the sweep of alpha, so FOL hardly feels alpha there; where
2/(5 alpha epsilon) is less than m ln m, FOL is done as soon as the Perceptron, before the player has had any say, and
the order shows beyond. The Perceptron on fresh rows is slow for the same reason as SGD: only one row in 1/epsilon
teaches it anything.
""",
        [
            (
                f"Lemma 1: samples of m = {sample_size(0.01):,} rows (epsilon 0.01) that lack a kind",
                "at most 5 %",
                f"{missed:.2%} of 100,000",
            ),
            (
                "FOL: exponents of 1/alpha / 1/epsilon / both",
                "Lemma 3: at most 1 / 1 / 1, up to logarithms (1.1 for m ln m)",
                listed[FOL],
            ),
            (
                "FOL: steps / (m ln m + 1/alpha), alpha = epsilon = " + ", ".join(f"{value:g}" for value in GRID[2:]),
                "constant",
                ", ".join(f"{medians[FOL, value, value, 1.0] / order(value, value):.1f}" for value in GRID[2:]),
            ),
            ("Hinge SGD: exponents", "Lemma 2: at least 1 / 1 / 2", listed[HINGE]),
            ("Perceptron on fresh rows: exponents", "its proof's argument too: 1 / 1 / 2", listed[PERCEPTRON]),
            (
                f"Steps at alpha = epsilon = {FIXED}: FOL / Perceptron / hinge SGD",
                f"of order {1 / FIXED:,.0f} log / {1 / FIXED**2:,.0f} / {1 / FIXED**2:,.0f}",
                f"{medians[FOL, *at]:,.0f} / {medians[PERCEPTRON, *at]:,.0f} / {medians[HINGE, *at]:,.0f}",
            ),
            (
                "Hinge SGD at alpha = epsilon = 0.003, other step sizes",
                f"any: at least of order {1 / 0.003**2:,.0f}",
                rates,
            ),
        ],
        figure,
        found=f"steps grow like (1/alpha)^{exponents['both', FOL]:.2f} at alpha = epsilon with focus, and like "
        f"(1/alpha)^{exponents['both', HINGE]:.2f} for SGD on the hinge loss: the gap shows",
    )


if __name__ == "__main__":
    main()
