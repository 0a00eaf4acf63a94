"""Holland 2019, Figure 2: errors and margins of margin pursuit at scale 1, and of Pegasos, over the stream."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from report import data_directory, write_report

from stream_maxloss.linear import MarginPursuit, Pegasos
from stream_maxloss.metrics import CatoniMargin, MarginDistribution


@dataclass(frozen=True)
class Task:
    """One data set as the paper cuts it, and how much of it fits into our minute."""

    title: str
    rows: int
    passes: int
    trials: int


TASKS = {
    "covtype": Task("cov", 540, 28, 10),
    "mnist": Task("digit5", 5000, 5, 3),
    "protein_homology": Task("protein", 740, 28, 10),
    "hiva": Task("hiva (for sido)", 160, 28, 10),
}
NOT_FEATURES = {"label", "class", "split", "block_id", "example_id"}
PENALTIES = [1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6]
MOST_TEST_ROWS = 5000
POINTS = 14
STATISTICS = ["test error", "mean", "Q25", "median", "Q75", "train error", "Catoni"]
LEARNERS = {
    "margin pursuit, 1/(λt)": lambda l2: MarginPursuit(l2=l2, step="inverse", intercept=False),
    "margin pursuit, 1/√(λt)": lambda l2: MarginPursuit(l2=l2, step="sqrt", intercept=False),
    "Pegasos": lambda l2: Pegasos(l2=l2, intercept=False),
}


def balanced_split(labels: np.ndarray, rows: int, most: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return `rows` training rows, half of them positive, and up to `most` others, as balanced, for the test."""
    positive, negative = (rng.permutation(np.flatnonzero(labels == side)) for side in (True, False))
    half = rows // 2
    rest = min(len(positive), len(negative), half + most // 2)
    return (
        np.concatenate((positive[:half], negative[: rows - half])),
        np.concatenate((positive[half:rest], negative[rows - half : rows - 2 * half + rest])),
    )


def standardise(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give every column of the training rows mean 0 and deviation 1 (a constant one: 0), and the test rows the same."""
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    deviation[deviation == 0.0] = 1.0
    return (train - mean) / deviation, (test - mean) / deviation


@lru_cache(maxsize=1)
def read_task(name: str) -> tuple[pa.Table, np.ndarray]:
    """Return the features and the labels of one data set."""
    table = pq.read_table(data_directory(name) / f"{name}.parquet")
    features = table.select([column for column in table.column_names if column not in NOT_FEATURES])
    return features, table["label"].to_numpy() == 1


def draw_task(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return standardised training rows and their signs, then test rows and theirs."""
    features, labels = read_task(name)
    train, test = balanced_split(labels, TASKS[name].rows, MOST_TEST_ROWS, rng)
    both = np.concatenate((train, test))
    taken = features.take(both)
    matrix = np.column_stack([column.to_numpy().astype(float) for column in taken.columns])
    signs = np.where(labels[both], 1.0, -1.0)
    rows, others = standardise(matrix[: len(train)], matrix[len(train) :])
    return rows, signs[: len(train)], others, signs[len(train) :]


def checkpoints(rows: int, passes: int) -> np.ndarray:
    """Return after how many gradients to look: evenly on a log scale, from a tenth of a pass to the last."""
    return np.unique(np.geomspace(rows / 10, rows * passes, POINTS).astype(int))


def summarise(train_margins: np.ndarray, test_margins: np.ndarray) -> list[float]:
    """Return the STATISTICS of one moment, by the library's own metrics."""
    distribution, location = MarginDistribution(len(test_margins)), CatoniMargin(scale=1.0, capacity=len(test_margins))
    distribution.update_many(test_margins)
    location.update_many(test_margins)
    test = distribution.get()
    return [test.wrong, test.mean, test.q25, test.median, test.q75, float(np.mean(train_margins < 0)), location.get()]


def follow(models: list, name: str, seed: int, shrink: bool = False) -> np.ndarray:
    """Feed every model one stream, drawn with replacement, and return its statistics[model, checkpoint].

    With `shrink` the rows are divided by the square root of their number of columns: mean squared length 1.
    """
    rng = np.random.default_rng(seed)
    rows, signs, others, other_signs = draw_task(name, rng)
    if shrink:
        rows, others = rows / np.sqrt(rows.shape[1]), others / np.sqrt(rows.shape[1])
    columns = [f"f{column}" for column in range(rows.shape[1])]
    points = checkpoints(TASKS[name].rows, TASKS[name].passes)
    order = rng.integers(0, len(rows), points[-1])
    result = np.empty((len(models), len(points), len(STATISTICS)))
    for point, (start, stop) in enumerate(zip([0, *points[:-1]], points, strict=True)):
        part = order[start:stop]
        table = pa.table(list(rows[part].T), names=columns)
        for model_index, model in enumerate(models):
            model.learn_many(table, signs[part])
            learned = model.weights
            weights = np.array([learned[column] for column in columns])
            result[model_index, point] = summarise(signs * (rows @ weights), other_signs * (others @ weights))
    return result


def trial(name: str, seed: int) -> np.ndarray:
    """Run the grid once: statistics[learner, penalty, checkpoint]; the last learner is the second on shrunk rows."""
    models = [build(l2) for build in LEARNERS.values() for l2 in PENALTIES]
    plain = follow(models, name, seed)
    short = follow([LEARNERS["margin pursuit, 1/√(λt)"](l2) for l2 in PENALTIES], name, seed, shrink=True)
    both = np.concatenate((plain, short))
    return both.reshape(len(LEARNERS) + 1, len(PENALTIES), *both.shape[1:])


def best_penalty(curves: np.ndarray) -> int:
    """Return the index of the penalty with the lowest test error over all checkpoints: the paper's choice."""
    return int(curves[:, :, 0].min(axis=1).argmin())


def draw_margins(axis: plt.Axes, passes: np.ndarray, curve: np.ndarray, colour: str) -> None:
    """Draw mean, median and the middle half of the test margins."""
    axis.fill_between(passes, curve[:, 2], curve[:, 4], color=colour, alpha=0.2, label="quartiles")
    axis.plot(passes, curve[:, 1], "--", color=colour, label="mean")
    axis.plot(passes, curve[:, 3], color=colour, label="median")
    axis.axhline(1.0, color="black", linewidth=0.8, linestyle=":", label="level 1")
    axis.axhline(0.0, color="black", linewidth=0.8)


def draw_figure(chosen: dict[str, list[np.ndarray]]) -> plt.Figure:
    """Draw one row of panels per data set: errors, then the margins of margin pursuit and of Pegasos."""
    figure, axes = plt.subplots(len(TASKS), 3, figsize=(14, 13), layout="constrained")
    for row, (name, task) in zip(axes, TASKS.items(), strict=True):
        passes = checkpoints(task.rows, task.passes) / task.rows
        for colour, learner, curve in zip(("C0", "C2", "C1"), LEARNERS, chosen[name], strict=False):
            row[0].plot(passes, curve[:, 0], color=colour, label=f"{learner}: test")
            row[0].plot(passes, curve[:, 5], "--", color=colour, label=f"{learner}: train")
        row[0].set(ylabel=f"{task.title}\nerror rate", title="errors")
        draw_margins(row[1], passes, chosen[name][0], "C0")
        draw_margins(row[2], passes, chosen[name][2], "C1")
        row[1].set(title="test margins, margin pursuit 1/(λt)", ylabel="margin")
        row[2].set(title="test margins, Pegasos", ylabel="margin")
        for axis in row:
            axis.set_xscale("log")
            axis.xaxis.set_major_formatter("{x:g}")
            axis.grid(alpha=0.3)
    for axis in axes[-1]:
        axis.set_xlabel("passes (gradients / training rows)")
    for axis in axes[0]:
        axis.legend(fontsize=7)
    return figure


def listed(chosen: dict[str, list[np.ndarray]], write: Callable[[list[np.ndarray]], str]) -> str:
    """Write one entry per data set, in the order of the figure."""
    return "; ".join(f"{TASKS[name].title} {write(curves)}" for name, curves in chosen.items())


def spread(curve: np.ndarray) -> float:
    """Return the distance of the quartiles at the end."""
    return float(curve[-1, 4] - curve[-1, 2])


def course(curve: np.ndarray) -> str:
    """Write the median margin at the first checkpoint, at its highest, and at the last."""
    return f"{curve[0, 3]:.2f} / {curve[:, 3].max():.2f} / {curve[-1, 3]:.2f}"


def compare(chosen: dict[str, list[np.ndarray]]) -> list[tuple[str, str, str]]:
    """Return the rows of the table; the curves of a data set are inverse step, root step, Pegasos, root step shrunk."""
    return [
        (
            "lowest test error: margin pursuit with the step 1/(λt), Pegasos",
            "as good or better than the best setting of Pegasos",
            listed(chosen, lambda c: f"{c[0][:, 0].min():.1%}, {c[2][:, 0].min():.1%}"),
        ),
        (
            "lowest test error with the step as printed; the same on rows of mean squared length 1",
            "this is the paper's step",
            listed(chosen, lambda c: f"{c[1][:, 0].min():.1%}, {c[3][:, 0].min():.1%}"),
        ),
        (
            "spread of the test margins (Q75 - Q25) at the end: margin pursuit, Pegasos",
            "smaller variance",
            listed(chosen, lambda c: f"{spread(c[0]):.2f}, {spread(c[2]):.2f}"),
        ),
        (
            "the same, divided by the median",
            "not said",
            listed(chosen, lambda c: f"{spread(c[0]) / c[0][-1, 3]:.2f}, {spread(c[2]) / c[2][-1, 3]:.2f}"),
        ),
        (
            "(mean - median) / spread at the end: margin pursuit, Pegasos",
            "much more symmetrical",
            listed(chosen, lambda c: ", ".join(f"{(k[-1, 1] - k[-1, 3]) / spread(k):+.2f}" for k in (c[0], c[2]))),
        ),
        (
            "median margin of margin pursuit: first, highest, last",
            "pushed up monotonically",
            listed(chosen, lambda c: course(c[0])),
        ),
        (
            "median margin of Pegasos: first, highest, last",
            "peaks early and slowly settles down",
            listed(chosen, lambda c: course(c[2])),
        ),
        (
            "Catoni estimate (scale 1) of margin pursuit's test margins at the end",
            "near the level 1, or below it where the class is too small for it (Remark 1)",
            listed(chosen, lambda c: f"{c[0][-1, 6]:.2f}"),
        ),
    ]


def write_page(chosen: dict[str, list[np.ndarray]], penalties: dict[str, list[float]]) -> None:
    """Write the page from the curves at the best penalty of each learner."""
    cuts = "; ".join(
        f"{task.title} n = {task.rows:,}, {task.trials} trials of {task.passes} passes" for task in TASKS.values()
    )
    best = "; ".join(f"{TASKS[name].title} " + ", ".join(f"{l2:g}" for l2 in own) for name, own in penalties.items())
    write_report(
        "margin_figure2",
        "Margin pursuit at scale 1, and Pegasos (Holland 2019, Figure 2)",
        f"""
As in the paper: balanced training rows drawn without replacement, a balanced test set of the others, one row
at a time drawn from the training set with replacement, level 1, scale 1, no intercept, and of the penalties λ = 1, 0.1,
..., 0.000001 the one with the lowest test error at any moment. Our experiment differs in this:

- {cuts}. The paper has 25 trials and, to judge by its axes, 28 to 30 passes. At most {MOST_TEST_ROWS:,} test rows.
- The paper's sido is not available. hiva, whose rows are also molecules described by binary columns, stands in for it;
  its 135 positives leave room for 160 balanced training rows.
- Weights start at 0, not at random.
- Columns are standardised by the training rows; the paper does not say how it prepared its columns. Five ways were
  tried separately from this script (5 trials; cov, protein and hiva, raw units on cov only). In raw units every learner
  and penalty stays at 47 % error or more. Lowest test errors of the step 1/(λt), the printed step and Pegasos, on cov,
  protein and hiva: columns scaled to [0, 1] 28, 31, 27; 9, 16, 7; 32, 37, 32 %; rows of length 1 44, 43, 42; 17, 18,
  13; 32, 33, 30 %; standardised, then divided by √d 25, 27, 25; 8, 8, 7; 29, 30, 30 %. In none of them was the printed
  step ahead of Pegasos.

The paper shows its results only in figures, so orders and signs are compared. Best penalties (step 1/(λt), step
1/√(λ(1+t)), Pegasos, second on short rows): {best}.

**Where our results contradict the paper, and why.**

1. With the step that we read in the paper, 1/(s√(λ(1+t))), margin pursuit errs more than Pegasos on standardised
   columns. A row has a squared length of about d there. On cov even the last and shortest step, 1/123 at λ = 1, moves
   the row's own margin by 54/123 of its distance from the level: the weights never come to rest. On the same rows
   divided by √d the error falls to about that of the step 1/(λt). So it is the units, not the loss. The root in the
   printed formula may also be meant to cover λ alone: 1/(s√λ(1+t)), tried separately from this script on 5 trials (1
   for digit5), came within half a point of Pegasos on cov, digit5 and protein.
2. With the step 1/(λt) margin pursuit comes within one and a half points of Pegasos, and is not better on any of the
   four. The differences on cov and protein are half a point or less, over {TASKS["covtype"].trials} trials.
3. Its margins spread less in absolute terms, but divided by their median they spread about as much as those of
   Pegasos, whose weights are longer. They are more symmetrical on digit5 and protein only.

Pegasos' early peak and slow decline are reproduced everywhere; the rise of margin pursuit shows after the first pass,
on digit5 only as a level that is reached before the first checkpoint.
""",
        compare(chosen),
        draw_figure(chosen),
        found="margin pursuit comes near Pegasos but is no better; Pegasos' early peak and slow decline are reproduced",
    )


def main() -> None:
    """Run every trial of every data set in two processes and write the page."""
    settings = [(name, seed) for name, task in TASKS.items() for seed in range(task.trials)]
    with ProcessPoolExecutor(2) as pool:
        runs = list(pool.map(trial, *zip(*settings, strict=True)))
    chosen, penalties = {}, {}
    for name in TASKS:
        mean = np.mean([run for run, (other, _) in zip(runs, settings, strict=True) if other == name], axis=0)
        picks = [best_penalty(curves) for curves in mean]
        chosen[name] = [curves[pick] for curves, pick in zip(mean, picks, strict=True)]
        penalties[name] = [PENALTIES[pick] for pick in picks]
    write_page(chosen, penalties)


if __name__ == "__main__":
    main()
