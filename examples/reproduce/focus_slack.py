"""Shalev-Shwartz & Wexler 2016, Section 4.2: slack variables against outliers."""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor

import matplotlib.pyplot as plt
import numpy as np
from batch_game import as_frame
from focus_rare import TEST_ROWS, draw
from report import write_report

from stream_maxloss.focus import FocusedClassifier, Slack
from stream_maxloss.linear import HingeOGD

TYPICAL, RARE = 2_000, 60
OUTLIERS = [0, 5, 10, 20, 40]
SEEDS = 4
ROUNDS = round(20 * (TYPICAL + RARE) * math.log(TYPICAL + RARE))
SLOW = "slack L1, slow learner"
NAMES = ["FOL", "FOL, slack L1", "FOL, slack L2", "uniform draws", SLOW]


def sample(rng: np.random.Generator, outliers: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return typical and rare rows, some typical ones with the wrong label, and which those are."""
    X, labels = (np.concatenate(part) for part in zip(draw(rng, TYPICAL, False), draw(rng, RARE, True), strict=True))
    wrong = np.arange(len(X)) < outliers
    order = rng.permutation(len(X))
    return X[order], (labels ^ wrong)[order], wrong[order]


def options(name: str, outliers: int) -> dict:
    """Return how the game is played; the budget K is the number of outliers, and the step is sqrt(2K/T)."""
    if name == "uniform draws":
        return {"gamma": 1.0}
    if name == "FOL" or outliers == 0:
        return {}
    step = min(1.0, math.sqrt(2.0 * outliers / ROUNDS))
    return {"slack": Slack(outliers, "l2" if "L2" in name else "l1", step)}


def play(name: str, outliers: int, seed: int) -> list[float]:
    """Return the errors on fresh typical and rare rows, and the outliers' shares of weight and of slack."""
    rng = np.random.default_rng((seed, outliers))
    X, labels, wrong = sample(rng, outliers)
    learner = HingeOGD(lr=0.5 if name == SLOW else 2.0, intercept=False)
    focused = FocusedClassifier(
        learner, window=len(X), replays=0, output="average", snapshots=51, seed=seed, **options(name, outliers)
    )
    focused.learn_many(as_frame(X), labels)
    focused.replay(ROUNDS)
    found = []
    for rare in (False, True):
        rows, truth = draw(rng, TEST_ROWS, rare)
        found.append(float(np.mean(focused.predict_many(as_frame(rows)).to_numpy() != truth)))
    weights = focused._game.player.weights()
    slack = np.array([focused._game.slack.get(slot) for slot in range(len(X))])
    return [*found, float(weights[wrong].sum() / weights.sum()), float(slack[wrong].sum() / max(slack.sum(), 1e-300))]


def main() -> None:
    """Measure every number of outliers and write the page."""
    settings = [(name, outliers, seed) for outliers in OUTLIERS for name in NAMES for seed in range(SEEDS)]
    with ProcessPoolExecutor(2) as pool:
        played = np.array(list(pool.map(play, *zip(*settings, strict=True), chunksize=4)))
    # results[outliers, algorithm, what]
    results = played.reshape(len(OUTLIERS), len(NAMES), SEEDS, 4).mean(axis=2)
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), sharex=True)
    titles = ["Fresh typical rows", "Fresh rare rows", "Weight of the outliers in the game"]
    for axis, column, title in zip(axes, range(3), titles, strict=True):
        for number, (name, marker) in enumerate(zip(NAMES, "os^xv", strict=True)):
            if column < 2 or name != "uniform draws":
                axis.plot(OUTLIERS, 100.0 * results[:, number, column], f"C{number}{marker}-", label=name)
        axis.set(xlabel=f"outliers among {TYPICAL + RARE:,} rows, k", title=title)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("error (%)")
    axes[2].set_ylabel("share of the weight (%)")
    axes[0].legend(fontsize=8)

    def listed(column: int, number: int) -> str:
        return " / ".join(f"{value:.1%}" for value in results[:, number, column])

    counts = " / ".join(map(str, OUTLIERS))
    write_report(
        "focus_slack",
        "Slack variables against outliers (Shalev-Shwartz & Wexler 2016, Section 4.2)",
        f"""
The sample of the page on rare rows, {TYPICAL:,} typical and {RARE} rare ones, with the labels of k typical rows
flipped. `FocusedClassifier(HingeOGD(lr=2), slack=Slack(K))` plays {ROUNDS:,} rounds on it with the budget K = k
under either norm; predictions are the average of 51 snapshots. Errors on {TEST_ROWS:,} fresh rows of each kind, means
of {SEEDS} samples, for k = {counts}. The paper has no numbers here, only the method and its aim.

Slack goes to the rows that are drawn most, and cannot distinguish an outlier from a rare row that is not learned yet:
the learner has to be quick. With a quarter of the step (lr 0.5, the slow learner) the rare rows are still wrong when
the budget is handed out, and are forgiven like outliers.
""",
        [
            (
                f"FOL without slack, typical rows, k = {counts}",
                "outliers may make the result meaningless",
                listed(0, 0),
            ),
            ("FOL, slack L1 / typical rows", "as without outliers", listed(0, 1)),
            ("FOL, slack L2 / typical rows", "as without outliers", listed(0, 2)),
            ("FOL without slack, rare rows", "no claim", listed(1, 0)),
            ("FOL, slack L1 / rare rows", "as without outliers while they are fewer than the rare rows", listed(1, 1)),
            ("FOL, slack L2 / rare rows", "the same", listed(1, 2)),
            ("FOL, slack L1, slow learner / rare rows", "the same", listed(1, 4)),
            ("Uniform draws, rare rows", "average loss misses rare rows", listed(1, 3)),
            ("Weight of the outliers: without slack", "they rule the game", listed(2, 0)),
            ("Weight of the outliers: slack L1", "less", listed(2, 1)),
            (
                "Share of the L1 / L2 slack that outliers hold, k = 5",
                "xi > 0 marks an outlier",
                f"{results[1, 1, 3]:.0%} / {results[1, 2, 3]:.0%}",
            ),
        ],
        figure,
        found=f"without slack {OUTLIERS[3]} outliers hold {results[3, 0, 2]:.0%} of the weight and typical rows err by "
        f"{results[3, 0, 0]:.1%}; with L1 slack {results[3, 1, 2]:.0%} and {results[3, 1, 0]:.1%}, and rare rows by "
        f"{results[3, 1, 1]:.1%}, if the learner is quick",
    )


if __name__ == "__main__":
    main()
