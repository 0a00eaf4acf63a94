"""Krause & Singer 2004, Figure 5 right: sequential boosting and LLM on pairs of newsgroups."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import matplotlib.pyplot as plt
import numpy as np
from report import data_directory, write_report
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from stream_maxloss.leverage import LLM, LogBoost

PAIRS = {
    "baseball / hockey": (9, 10),
    "pc / mac hardware": (3, 4),
    "atheism / religion": (0, 19),
    "guns / politics": (16, 18),
}
ROUNDS = [100, 1000, 10_000]
NAMES = ["LLM 0.08", "LLM 0.16"]


def read_pair(first: int, second: int, seed: int = 0):
    """Return word-presence rows and labels of two groups, 3/4 of each group drawn for training."""
    counts, groups = load_svmlight_file(str(data_directory("newsgroups20") / "newsgroups20.svm.gz"))
    rng = np.random.default_rng(seed)
    train, test = [], []
    for group in (first, second):
        documents = rng.permutation(np.flatnonzero(groups == group))
        train.append(documents[: 3 * len(documents) // 4])
        test.append(documents[3 * len(documents) // 4 :])
    train, test = np.concatenate(train), np.concatenate(test)
    words = sparse.csr_array(counts[train] > 0, dtype=np.float64)
    # A word that no training document has can never get a weight.
    used = np.flatnonzero(words.sum(axis=0))
    tested = sparse.csr_array(counts[test] > 0, dtype=np.float64)[:, used]
    return words[:, used], groups[train] == first, tested, groups[test] == first


def errors(pair: tuple[int, int]) -> np.ndarray:
    """Return the test error of each algorithm (boosting first) after each number of rounds."""
    train, labels, test, truth = read_pair(*pair)
    result = np.empty((3, len(ROUNDS)))
    fits = [LogBoost("sequential", warm_start=True)]
    fits += [LLM(epsilon, templates="sequential", warm_start=True) for epsilon in (0.08, 0.16)]
    for row, fit in enumerate(fits):
        for column, rounds in enumerate(np.diff([0, *ROUNDS])):
            fit.iterations = int(rounds)
            fit.fit(train, labels)
            result[row, column] = np.mean(fit.predict(test) != truth)
    return 100.0 * result


def main() -> None:
    """Fit four pairs in two processes and write the page."""
    with ProcessPoolExecutor(2) as pool:
        results = np.array(list(pool.map(errors, PAIRS.values())))  # pair, algorithm, rounds
    gain = results[:, :1] - results[:, 1:]
    figure, axes = plt.subplots(1, len(ROUNDS), figsize=(12, 4), sharey=True)
    for column, (axis, rounds) in enumerate(zip(axes, ROUNDS, strict=True)):
        for row, name in enumerate(NAMES):
            axis.bar(np.arange(4) + 0.35 * (row - 0.5), gain[:, row, column], 0.33, label=name)
        axis.axhline(0.0, color="black", linewidth=0.8)
        axis.set_xticks(range(4), [name.replace(" / ", " /\n") for name in PAIRS], fontsize=8)
        axis.set(title=f"{rounds:,} rounds", xlabel="pair of newsgroups")
        axis.grid(axis="y", alpha=0.3)
    axes[0].set_ylabel("boosting's test error less LLM's (percentage points)")
    axes[0].legend()
    rows = [
        (
            f"{pair}: boosting; LLM 0.08; LLM 0.16",
            "only a picture",
            "; ".join(" / ".join(f"{value:.1f} %" for value in series) for series in result),
        )
        for pair, result in zip(PAIRS, results, strict=True)
    ]
    spread = [np.abs(gain[:, :, column]).mean() for column in range(len(ROUNDS))]
    wins = [(gain[:, :, column] > 0).sum() for column in range(len(ROUNDS))]
    write_report(
        "leverage_newsgroups",
        "Leveraging on pairs of newsgroups (Krause & Singer 2004, Figure 5 right)",
        f"""
Single words (present or not) as features, one word a round, three quarters of each group for training. The collection is
the later "bydate" one (duplicates removed, 628 to 999 articles a group instead of 1,000, headers other than the subject
dropped, since they give the group away), split at random as in the paper. The paper names neither its four pairs nor LLM's
epsilon in the text, and gives numbers in a picture only: orders and signs are compared. Errors after
{" / ".join(f"{rounds:,}" for rounds in ROUNDS)} rounds. A test set has some 350 to 500 articles, so a difference of one
point is within chance.
""",
        [
            *rows,
            (
                "LLM against boosting, 100 and 1,000 rounds",
                "LLM often better, in many cases by as much as 2 points",
                f"better in {wins[0]} and {wins[1]} of 8 cases, at most by {gain[:, :, :2].max():.1f} points",
            ),
            (
                "10,000 rounds",
                "indistinguishable",
                f"better in {wins[2]} of 8 cases; mean difference {spread[2]:.1f} points (100 rounds: {spread[0]:.1f})",
            ),
        ],
        figure,
    )


if __name__ == "__main__":
    main()
