"""A stream with a rare slice, learned bare, with uniform replay and with focus; draws the error curves per slice.

The stream is like intrusion data: most rows are easy, and one in five hundred is an attack of a rare kind, which
differs from a normal row only in two features that say nothing elsewhere. Run `python examples/rare_slice.py`: it
prints the progressive error of each learner on each slice and writes `rare_slice.png`.
"""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Scaler

FEATURES = 20


def make_stream(rows: int, rare: float, seed: int) -> tuple[pa.Table, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the rows, their labels, and which of them belong to the rare slice."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, FEATURES))
    labels = rng.uniform(size=rows) < 0.5
    X[:, 0] += np.where(labels, 3.5, -3.5)
    X[:, 1:4] += np.where(labels, 0.5, -0.5)[:, None]
    slice_ = rng.uniform(size=rows) < rare
    # A rare attack looks like a normal row but for the last two features.
    labels[slice_] = True
    X[slice_, 0] = rng.normal(-3.5, 1.0, size=slice_.sum())
    X[slice_, 1:4] -= 0.5
    X[slice_, -2:] += 5.0
    return pa.table({f"f{j:02d}": X[:, j] for j in range(FEATURES)}), labels, slice_


def progressive_errors(model: Scaler, table: pa.Table, labels: NDArray[np.bool_], batch: int) -> NDArray[np.bool_]:
    """Predict each batch's rows before learning them; return which predictions were wrong."""
    wrong = []
    for start in range(0, len(labels), batch):
        part, truth = table.slice(start, batch), labels[start : start + batch]
        wrong.append(np.asarray(model.predict_many(part)) != truth)
        model.learn_many(part, truth)
    return np.concatenate(wrong)


def draw(curves: dict[str, dict[str, NDArray[np.float64]]], path: str) -> None:
    """Draw the running error of each learner, one panel for each slice."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(curves), figsize=(10, 4), layout="constrained")
    for panel, (name, lines) in zip(panels, curves.items(), strict=True):
        for learner, errors in lines.items():
            panel.plot(np.linspace(0, 1, len(errors)), 100 * errors, label=learner)
        panel.set(title=name, xlabel="part of the slice seen", ylabel="error so far, %", ylim=(0, None))
    panels[0].legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--rare", type=float, default=0.002, help="share of the rare slice")
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", default="rare_slice.png")
    arguments = parser.parse_args()
    table, labels, slice_ = make_stream(arguments.rows, arguments.rare, arguments.seed)
    learners = {
        "bare": Scaler() | HingeOGD(),
        "uniform replay": Scaler() | FocusedClassifier(HingeOGD(), gamma=1.0, seed=arguments.seed),
        "focused": Scaler() | FocusedClassifier(HingeOGD(), seed=arguments.seed),
    }
    curves: dict[str, dict[str, NDArray[np.float64]]] = {"usual rows": {}, "rare slice": {}}
    print(f"{'':16}{'usual rows':>12}{'rare slice':>12}")
    for name, model in learners.items():
        wrong = progressive_errors(model, table, labels, arguments.batch)
        for title, chosen in (("usual rows", ~slice_), ("rare slice", slice_)):
            curves[title][name] = np.cumsum(wrong[chosen]) / np.arange(1, chosen.sum() + 1)
        print(f"{name:16}{100 * wrong[~slice_].mean():11.2f}%{100 * wrong[slice_].mean():11.2f}%")
    draw(curves, arguments.output)
    hardest = learners["focused"]["FocusedClassifier"].hardest(3)
    print("hardest rows now:", ", ".join(f"{row.y} (loss {row.loss:.2f}, {row.replays} replays)" for row in hardest))
    print("drawn to", arguments.output)


if __name__ == "__main__":
    main()
