"""Draw the pictures of docs/concepts: the game, a mixture, a fern, calibration.

Run from the project's folder, with the extra `plot`: `python -m examples.concept_pictures`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa

from stream_maxloss import AutoClassifier, Ferns, FocusedClassifier, HingeOGD, Logistic, Mixture, Scaler

mpl.use("Agg")

from matplotlib import pyplot as plt

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "concepts"
BLUE, ORANGE, GREEN, GREY = "#1f5fa8", "#d1702a", "#2e8b57", "#9a9a9a"


def rare_stream(rows: int, seed: int) -> tuple[pa.Table, np.ndarray, np.ndarray]:
    """Return rows of which one in a hundred follows a rule of its own, their labels, and which those are."""
    chance = np.random.default_rng(seed)
    label, rare = chance.random(rows) < 0.5, chance.random(rows) < 0.01
    sign = np.where(label, 1.0, -1.0)
    table = pa.table(
        {
            "amount": np.where(rare, -0.1, 1.0) * sign + 0.3 * chance.normal(size=rows),
            "hour": np.where(rare, 0.3, 0.0) * sign + 0.05 * chance.normal(size=rows),
        }
    )
    return table, label, rare


def draw_game() -> None:
    """Draw the weights of a window, and the share of the weight that rare rows have, over time."""
    window, step, rows = 2_000, 500, 20_000
    table, label, rare = rare_stream(rows, seed=3)
    model = FocusedClassifier(HingeOGD(), window=window, seed=1)
    shares = []
    for first in range(0, rows, step):
        model.learn_many(table.slice(first, step), pa.array(label[first : first + step]))
        last = first + step
        held = model.hardest(min(window, last))
        is_rare = np.array([rare[last - 1 - row.age] for row in held])
        weights = np.array([row.weight for row in held])
        shares.append((last, is_rare.mean(), weights[is_rare].sum() / weights.sum()))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.2))
    ages = np.array([row.age for row in held])
    size = weights / weights.sum() * len(held)
    left.scatter(ages[~is_rare], size[~is_rare], s=4, color=GREY, label="usual rows")
    left.scatter(ages[is_rare], size[is_rare], s=14, color=ORANGE, label="rare rows")
    left.set(
        xlabel="age, rows", ylabel="weight over the mean weight", yscale="log", title="The window after 20,000 rows"
    )
    left.legend(frameon=False)
    at, among, of_weight = np.array(shares).T
    right.plot(at, 100 * of_weight, color=ORANGE, label="of the weight")
    right.plot(at, 100 * among, color=GREY, linestyle="--", label="of the rows")
    right.set(xlabel="rows learned", ylabel="share of rare rows, %", title="What the player found out", ylim=(0, None))
    right.legend(frameon=False)
    save(figure, "game")


def draw_mixture() -> None:
    """Draw the weights of three steps on a stream whose rule turns round twice."""
    rows = 6_000
    chance = np.random.default_rng(5)
    X = chance.normal(size=(rows, 5))
    rule = np.array([1.0, -1.0, 0.5, 0.0, 0.0])
    sign = np.where((np.arange(rows) // 2_000) % 2 == 0, 1.0, -1.0)
    label = sign * (X @ rule) + 1.5 * chance.normal(size=rows) > 0.0
    steps = (0.003, 0.03, 0.3)
    model = Mixture([Logistic(lr=lr, schedule="constant") for lr in steps])
    table = pa.table({f"x{column}": X[:, column] for column in range(X.shape[1])})
    model.learn_many(table, pa.array(label))
    at, weights = model.history()
    figure, axis = plt.subplots(figsize=(7.5, 3.0))
    for lr, expert, colour in zip(steps, weights.T, (GREY, BLUE, ORANGE), strict=True):
        axis.plot(at, expert, color=colour, label=f"step {lr}")
    for turn in (2_000, 4_000):
        axis.axvline(turn, color="black", linewidth=0.8, linestyle=":")
    axis.set(xlabel="rows learned (dotted: the rule turns round)", ylabel="weight of the expert", ylim=(0, 1))
    axis.legend(frameon=False, loc="center right")
    save(figure, "mixture")


def bananas() -> tuple[np.ndarray, np.ndarray]:
    """Return River's Bananas as a matrix and labels."""
    from river import datasets

    rows = list(datasets.Bananas())
    return np.array([list(x.values()) for x, _ in rows]), np.array([y for _, y in rows])


def draw_fern() -> None:
    """Draw the leaves of one fern over a plane, and what fifty of them together make of it."""
    X, y = bananas()
    grid = np.stack(np.meshgrid(np.linspace(-3, 3, 160), np.linspace(-3, 3, 160)), axis=-1).reshape(-1, 2)
    columns = ("1", "2")

    def table(points: np.ndarray) -> pa.Table:
        return pa.table({name: points[:, place] for place, name in enumerate(columns)})

    figure, axes = plt.subplots(1, 3, figsize=(10.0, 3.3), sharey=True)
    one = Ferns(ferns=1, depth=4, keep="none", seed=4)
    for point in X[:200]:
        one.learn_one(dict(zip(columns, map(float, point), strict=True)))
    leaves = [next(iter(one.transform_one(dict(zip(columns, map(float, point), strict=True))))) for point in grid]
    _, numbers = np.unique(np.array(leaves), return_inverse=True)
    axes[0].imshow(numbers.reshape(160, 160) % 10, origin="lower", extent=(-3, 3, -3, 3), cmap="Pastel1", aspect="auto")
    axes[0].set_title("one fern: 4 tests, its leaves")
    for axis, name, model in (
        (axes[1], "a line", Scaler() | Logistic()),
        (axes[2], "the leaves of 50 ferns", Ferns(seed=1) | Logistic()),
    ):
        model.learn_many(table(X), pa.array(y))
        chance = model.predict_proba_many(table(grid))[True].to_numpy().reshape(160, 160)
        axis.imshow(chance, origin="lower", extent=(-3, 3, -3, 3), cmap="RdBu_r", vmin=0, vmax=1, aspect="auto")
        axis.set_title(f"over {name}")
    for axis in axes:
        axis.scatter(*X[~y][:600].T, s=2, color=BLUE)
        axis.scatter(*X[y][:600].T, s=2, color=ORANGE)
        axis.set(xlim=(-3, 3), ylim=(-3, 3), xlabel="column 1")
    axes[0].set_ylabel("column 2")
    save(figure, "fern")


def draw_calibration() -> None:
    """Draw what was said against what happened, for a hinge score through a sigmoid and for `auto`."""
    rows = 20_000
    chance = np.random.default_rng(11)
    X = chance.normal(size=(rows, 6))
    log_odds = 1.5 * X[:, 0] - X[:, 1] * (X[:, 2] > 0) - 3.5
    label = chance.random(rows) < 1.0 / (1.0 + np.exp(-log_odds))
    table = pa.table({f"x{column}": X[:, column] for column in range(X.shape[1])})
    figure, axis = plt.subplots(figsize=(4.4, 4.2))
    axis.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1)
    for name, model, colour in (
        ("HingeOGD, sigmoid of its score", Scaler() | HingeOGD(), ORANGE),
        ("auto", AutoClassifier(seed=1), BLUE),
    ):
        said = progressive_probabilities(model, table, label)
        bins = np.minimum((said * 12).astype(int), 11)
        held = [place for place in range(12) if np.sum(bins == place) >= 50]
        axis.plot(
            [said[bins == place].mean() for place in held],
            [label[bins == place].mean() for place in held],
            marker="o",
            markersize=4,
            color=colour,
            label=name,
        )
    axis.set(xlabel="probability that was said", ylabel="share that came true", xlim=(0, 1), ylim=(0, 1))
    axis.legend(frameon=False)
    save(figure, "calibration")


def progressive_probabilities(model: Any, table: pa.Table, label: np.ndarray) -> np.ndarray:
    """Return the probability of True that was said of each row before it was learned."""
    said = np.empty(len(label))
    for place, x in enumerate(table.to_pylist()):
        said[place] = model.predict_proba_one(x).get(True, 0.5)
        model.learn_one(x, bool(label[place]))
    return said


def save(figure: Any, name: str) -> None:
    """Write a picture."""
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(FOLDER / f"{name}.png", dpi=110)
    plt.close(figure)


def main() -> None:
    """Draw all of them."""
    draw_game()
    draw_mixture()
    draw_fern()
    draw_calibration()


if __name__ == "__main__":
    main()
