"""Krause & Singer 2004, Figure 4: label noise on the rows of largest margin, by quartile."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import matplotlib.pyplot as plt
import numpy as np
from report import write_report

from stream_maxloss.leverage import LLD, LLM, LogBoost, mu_of_epsilon

RATES = [0.1, 0.2, 0.3, 0.4]
ITERATIONS = 1000
REPEATS = 10
NAMES = ["boosting", "LLM", "LLD"]


def draw(rng: np.random.Generator, quartiles: int, rate: float):
    """Return 1,000 noisy training rows in 40 dimensions and 1,000 clean test rows of the same hyperplane."""
    hyperplane = rng.normal(size=40)
    train, test = rng.normal(size=(2, 1000, 40))
    labels = train @ hyperplane > 0
    contaminated = np.abs(train @ hyperplane).argsort()[::-1][: 250 * quartiles]
    labels[contaminated] ^= rng.random(len(contaminated)) < rate
    return train, labels, test, test @ hyperplane > 0


def errors(seed: int, quartiles: int, rate: float, iterations: int) -> list[float]:
    """Return the test error of boosting, LLM and LLD."""
    train, labels, test, truth = draw(np.random.default_rng(seed), quartiles, rate)
    fits = (
        LogBoost(iterations=iterations),
        LLM(rate, iterations=iterations),
        LLD(mu_of_epsilon(rate), iterations=iterations),
    )
    return [float(np.mean(fit.fit(train, labels).predict(test) != truth)) for fit in fits]


def percent(values) -> str:
    """Write shares as percentages."""
    return ", ".join(f"{100 * value:.1f} %" for value in values)


def main() -> None:
    """Fit every setting and write the page."""
    settings = [(seed, q, rate, ITERATIONS) for rate in RATES for q in range(5) for seed in range(REPEATS)]
    long_settings = [(seed, 1, 0.2, 20 * ITERATIONS) for seed in range(2)]
    with ProcessPoolExecutor(2) as pool:
        measured = np.array(list(pool.map(errors, *zip(*settings, strict=True), chunksize=10)))
        long_run = np.mean(list(pool.map(errors, *zip(*long_settings, strict=True))), axis=0)
    # results[rate, contaminated quartiles, algorithm]
    results = measured.reshape(len(RATES), 5, REPEATS, 3).mean(axis=2)
    figure, axes = plt.subplots(1, len(RATES), figsize=(14, 3.8), sharex=True)
    for axis, rate, result in zip(axes, RATES, results, strict=True):
        for name, marker, series in zip(NAMES, "os^", result.T, strict=True):
            axis.plot(range(5), 100 * series, marker=marker, label=name)
        axis.set(title=f"noise rate p = {rate}", xlabel="contaminated quartiles\n(largest margin first)")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("error on clean test rows (%)")
    axes[-1].legend(loc="lower right")
    first, last = results[:, 1], results[:, 4]
    two = results[:, 2]
    write_report(
        "leverage_noise",
        "Leveraging and label noise by margin (Krause & Singer 2004, Figure 4)",
        f"""
1,000 training rows from N(0, I) in 40 dimensions, labelled by a random hyperplane; the labels in the 1, 2, 3 or 4
quartiles of largest margin are flipped with probability p. Log-loss boosting, LLM with epsilon = p and LLD with
mu = ln((1-p)/p), parallel templates, {ITERATIONS:,} iterations each, {REPEATS} repeats, 1,000 clean test rows. The
paper shows its results only in a figure, and gives neither its four values of p nor its number of iterations; ours are
p = {", ".join(map(str, RATES))}, so orders and signs are compared. Lists of four are in the order of p.

LLM and LLD minimise the same loss here (Section 4); LLD's step is limited by a sum over all rows and is shorter. With
{20 * ITERATIONS:,} iterations at p = 0.2 and one contaminated quartile (2 repeats) the errors are boosting
{long_run[0]:.1%}, LLM {long_run[1]:.1%}, LLD {long_run[2]:.1%}: the gap narrows with the iterations.

Two things that the paper does not say, or says differently: without any noise boosting is the best of the three, and
under uniform noise the lead of LLM and LLD shrinks as p grows, to half a point at p = {RATES[-1]}, which is not "far
lower".
""",
        [
            (
                "No noise",
                "",
                f"boosting {percent(results[:1, 0, 0])}; LLM {percent(results[:, 0, 1])}; "
                f"LLD {percent(results[:, 0, 2])}",
            ),
            (
                "Boosting, first quartile contaminated against none",
                "high increase of the error",
                f"{percent(results[:, 0, 0])} -> {percent(first[:, 0])}",
            ),
            (
                "LLM, first two quartiles contaminated",
                "error very low",
                f"{percent(two[:, 1])}; boosting {percent(two[:, 0])}",
            ),
            (
                "LLM, the last quartile added",
                "significant increase",
                f"{percent(results[:, 3, 1])} -> {percent(last[:, 1])}",
            ),
            (
                "LLD",
                "linear in the quartiles; between boosting and LLM",
                f"first quartile {percent(first[:, 2])}; LLM {percent(first[:, 1])}; boosting {percent(first[:, 0])}",
            ),
            (
                "All quartiles (uniform noise)",
                "LLM and LLD far lower than boosting",
                f"boosting {percent(last[:, 0])}; LLM {percent(last[:, 1])}; LLD {percent(last[:, 2])}",
            ),
        ],
        figure,
        found=f"at p = {RATES[1]} with one contaminated quartile boosting errs by {first[1, 0]:.1%}, LLD by "
        f"{first[1, 2]:.1%}, LLM by {first[1, 1]:.1%}: the paper's order",
    )


if __name__ == "__main__":
    main()
