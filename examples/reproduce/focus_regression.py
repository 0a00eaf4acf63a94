"""Shalev-Shwartz & Wexler 2016, Example 2: regression under the absolute loss, every row within epsilon."""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor

import matplotlib.pyplot as plt
import numpy as np
from batch_game import as_frame, rounds_until, slope
from report import write_report

from stream_maxloss.focus import FocusedRegressor
from stream_maxloss.linear import AbsoluteOGD

SIZES = [50, 100, 200, 400, 1_000, 3_000, 10_000]
# Uniform draws need more than 10^7 rounds on larger samples.
UNIFORM_SIZES = SIZES[:4]
EPSILONS = [0.2, 0.14, 0.1, 0.07, 0.05]
SIZE, EPSILON = 200, 0.1
SEEDS = 3
WIDTH, RARE_ROWS, RADIUS = 6, 3, 4.0
SNAPSHOTS = 100
MOST = 1e8
ALGORITHMS = {"FOL": 0.5, "SGD, uniform draws": 1.0}


def draw(m: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in the unit ball with targets <w, x> in [0, 1]; the last column is seen in three rows only."""
    rng = np.random.default_rng((seed, m))
    X = rng.uniform(size=(m, WIDTH)) / math.sqrt(WIDTH)
    X[RARE_ROWS:, -1] = 0.0
    # The rare column is small and its weight large: its rows must be met often.
    X[:RARE_ROWS, -1] = rng.uniform(0.1, 0.15, size=RARE_ROWS)
    weights = np.append(rng.uniform(0.4, 0.8, size=WIDTH - 1), -3.0)
    targets = X @ weights
    order = rng.permutation(m)
    return X[order], np.clip(targets, 0.0, 1.0)[order]


def rounds(name: str, m: int, epsilon: float, seed: int) -> tuple[float, float, float]:
    """Play until every row's error is below epsilon; give the rounds, and the worst and the mean error then."""
    X, targets = draw(m, seed)
    frame = as_frame(X)
    # The step of online gradient descent over a ball of radius W with rows of norm X: W/(X sqrt(t)).
    learner = AbsoluteOGD(lr=RADIUS, low=0.0, high=1.0, radius=RADIUS, intercept=False)
    focused = FocusedRegressor(
        learner, window=m, replays=0, gamma=ALGORITHMS[name], output="average", snapshots=SNAPSHOTS, seed=seed
    )
    focused.learn_many(frame, targets)

    def worst() -> float:
        return float(np.abs(focused.predict_many(frame) - targets).max())

    count = rounds_until(focused, lambda: worst() <= epsilon, MOST)
    return count, worst(), float(np.abs(focused.predict_many(frame) - targets).mean())


def main() -> None:
    """Measure both sweeps and write the page."""
    points = {(m, EPSILON) for m in SIZES} | {(SIZE, epsilon) for epsilon in EPSILONS}
    settings = [
        (name, m, epsilon, seed)
        for name in ALGORITHMS
        for m, epsilon in sorted(points)
        for seed in range(SEEDS)
        if name == "FOL" or m in UNIFORM_SIZES
    ]
    with ProcessPoolExecutor(2) as pool:
        played = list(pool.map(rounds, *zip(*settings, strict=True)))
    collected: dict[tuple[str, int, float], list[float]] = {}
    for (name, m, epsilon, _), (count, _, _) in zip(settings, played, strict=True):
        collected.setdefault((name, m, epsilon), []).append(count)
    means = {key: float(np.exp(np.mean(np.log(values)))) for key, values in collected.items()}
    worst = max(error / epsilon for (_, _, epsilon, _), (_, error, _) in zip(settings, played, strict=True))
    mean_error = max(mean for (name, *_), (_, _, mean) in zip(settings, played, strict=True) if name == "FOL")
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True)
    by_m = {n: [(m, means[n, m, EPSILON]) for m in SIZES if (n, m, EPSILON) in means] for n in ALGORITHMS}
    by_epsilon = {n: [(1.0 / e, means[n, SIZE, e]) for e in EPSILONS] for n in ALGORITHMS}
    for axis, sweep in zip(axes, (by_m, by_epsilon), strict=True):
        for (name, series), marker in zip(sweep.items(), "os", strict=True):
            axis.loglog(*zip(*series, strict=True), marker=marker, label=name)
        axis.grid(alpha=0.3)
    sizes, inverse = np.array(SIZES), 1.0 / np.array(EPSILONS)
    fitted = means["FOL", 1_000, EPSILON] / (1_000 * math.log(1_000) / EPSILON)
    axes[0].loglog(sizes, fitted * sizes * np.log(sizes) / EPSILON, "k--", label="FOL's order, (m ln m)/epsilon")
    axes[1].loglog(inverse, fitted * SIZE * math.log(SIZE) * inverse, "k--")
    square = means["SGD, uniform draws", SIZE, EPSILON] / SIZE**2
    axes[0].loglog(sizes[:4], square * sizes[:4].astype(float) ** 2, "k:", label="SGD's order in m, m²")
    axes[0].set(xlabel="rows of the sample, m", ylabel="rounds until every error <= epsilon", title="epsilon = 0.1")
    axes[1].set(xlabel="1/epsilon", title=f"m = {SIZE}")
    axes[1].set_xticks(inverse, [f"{x:.0f}" for x in inverse])
    axes[1].minorticks_off()
    axes[0].legend(fontsize=8)
    exponent = {n: (slope(*zip(*by_m[n], strict=True)), slope(*zip(*by_epsilon[n], strict=True))) for n in ALGORITHMS}
    ratios = [means["FOL", m, EPSILON] * EPSILON / (m * math.log(m)) for m in SIZES[3:]]
    last = UNIFORM_SIZES[-1]
    write_report(
        "focus_regression",
        "Example 2: every row's error below epsilon (Shalev-Shwartz & Wexler 2016, Section 2.2)",
        f"""
m rows in the unit ball of {WIDTH} dimensions with targets <w, x> in [0, 1]; the last column is nonzero in only
{RARE_ROWS} rows, where it is small and its weight large. `FocusedRegressor(AbsoluteOGD(low=0, high=1,
radius={RADIUS:g}))` plays on the sample until the average of {SNAPSHOTS} snapshots, drawn uniformly from all rounds, is
within epsilon of the target on every row; it is compared with uniform draws (`gamma=1`), which is SGD. Geometric means
over {SEEDS} samples. The paper's orders are upper bounds with unnamed constants, so exponents are compared. SGD was run
up to m = {last}.

The errors fall faster in epsilon than the bounds' 1/epsilon², for FOL and SGD alike: once the learner has settled, what
is left in the average are the early snapshots, whose share falls like 1/T.

The rare column is built to be hard. In a trial where it was larger (0.3 to 0.5 in five rows, weight -1; two samples,
m = 1,000) SGD took only 1.1 to 1.3 times FOL's rounds: the gap is that of the worst case, not of every sample.
""",
        [
            ("Worst error of any row at the end, over epsilon", "at most 1", f"{worst:.2f}"),
            (
                f"FOL: rounds epsilon / (m ln m), m = {SIZES[3]} to {SIZES[-1]:,}",
                "constant once m is large",
                ", ".join(f"{ratio:.2f}" for ratio in ratios),
            ),
            (
                "FOL: exponents of m / of 1/epsilon",
                "1 (and a logarithm) / between 1 and 2",
                f"{exponent['FOL'][0]:.2f} / {exponent['FOL'][1]:.2f}",
            ),
            (
                "SGD: exponents of m / of 1/epsilon",
                "at most 2 / at most 2",
                "{:.2f} / {:.2f}".format(*exponent["SGD, uniform draws"]),
            ),
            (
                f"SGD's rounds over FOL's at m = {last}, epsilon = {EPSILON}",
                "larger",
                f"{means['SGD, uniform draws', last, EPSILON] / means['FOL', last, EPSILON]:.1f} times",
            ),
            ("Largest mean error where FOL stops", "no claim", f"{mean_error:.4f}"),
        ],
        figure,
        found=f"every row ends within epsilon; rounds grow like m^{exponent['FOL'][0]:.2f} with focus and like "
        f"m^{exponent['SGD, uniform draws'][0]:.2f} without",
    )


if __name__ == "__main__":
    main()
