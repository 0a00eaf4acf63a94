"""What averaging the weights of workers costs; `python -m benchmarks.mixing` prints the table of docs/mixing.md.

All workers take turns in one process, so the errors are those of real workers, and the times say nothing.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data_sets import ABSENT, STORED, find_set, load
from stream_maxloss.expand import Bins
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Logistic, Scaler
from stream_maxloss.mixing import MixedClassifier
from stream_maxloss.rows.dicts import frame_to_dicts

__all__ = ["measure"]

ROWS, MIX_EVERY, WORKERS = 10_000, 250, (1, 2, 4, 8)
SKEW = 0.8
"""Share of rows that go to the workers of their label, where partitions are skewed."""


class DealtClassifier(MixedClassifier):
    """Workers that are dealt rows by a list."""

    def deal(self, turns: NDArray[np.int64]) -> None:
        """Say which worker learns which row."""
        self._turns = turns

    def _turn(self, x: Any) -> int:
        return int(self._turns[self._clock[1]]) if self.rounds else 0


def learners(is_sparse: bool) -> dict[str, Any]:
    """Return what is mixed, as the command line builds it."""
    scaled = (lambda model: model) if is_sparse else (lambda model: Scaler() | model)
    found = {
        "HingeOGD": scaled(HingeOGD()),
        "HingeOGD, focused": scaled(FocusedClassifier(HingeOGD(), window=2000, seed=0)),
    }
    return {**found, "Logistic": Logistic()} if is_sparse else {**found, "Bins, Logistic": Bins() | Logistic()}


def turns_of(labels: NDArray[np.bool_], workers: int, is_skewed: bool) -> NDArray[np.int64]:
    """Return which worker learns each row: in turn, or mostly one of those that its label belongs to."""
    turns = np.arange(len(labels)) % workers
    if not is_skewed or workers == 1:
        return turns
    half = workers // 2
    home = np.where(labels, turns % half, half + turns % (workers - half))
    stays = np.random.default_rng(5).random(len(labels)) < SKEW
    return np.where(stays, home, turns)


def measure(name: str, rows: int) -> list[dict[str, Any]]:
    """Return the errors on a data set, of every learner, number of workers and kind of partitions."""
    stream = load(name, rows=rows)
    dicts, labels = list(frame_to_dicts(stream.table)), np.asarray(stream.labels, dtype=bool)
    rare = stream.slices[stream.rare]
    late = np.arange(len(labels)) >= len(labels) // 2
    found = []
    for learner, model in learners(stream.is_sparse).items():
        for is_skewed in (False, True):
            for workers in WORKERS if not is_skewed else WORKERS[1:]:
                mixed = DealtClassifier(model.clone(), workers, MIX_EVERY)
                mixed.deal(turns_of(labels, workers, is_skewed))
                wrong = np.empty(len(labels), dtype=bool)
                for row, (x, y) in enumerate(zip(dicts, labels.tolist(), strict=True)):
                    wrong[row] = mixed.predict_one(x) != y
                    mixed.learn_one(x, y)
                facts = {"set": name, "learner": learner, "workers": workers, "skewed": is_skewed, "rows": len(labels)}
                facts |= {"error": 100 * wrong.mean(), "late": 100 * wrong[late].mean(), "rounds": mixed.rounds}
                facts |= {"rare": stream.rare, "missed": 100 * wrong[rare].mean(), "rare_rows": int(rare.sum())}
                found.append(facts)
                print(json.dumps(facts), flush=True)
    return found


def table(found: list[dict[str, Any]]) -> str:
    """Return a table in Markdown: error on all rows / on the rare slice, by number of workers."""
    heads = ["1", "2", "4", "8", "2 skewed", "4 skewed", "8 skewed"]
    lines = [f"| set, rare slice | learner | {' | '.join(heads)} |", "|---" * (2 + len(heads)) + "|"]
    for name, learner in dict.fromkeys((one["set"], one["learner"]) for one in found):
        mine = [one for one in found if (one["set"], one["learner"]) == (name, learner)]
        by = {f"{one['workers']}{' skewed' if one['skewed'] else ''}": one for one in mine}
        cells = [f"{by[head]['error']:.2f} / {by[head]['missed']:.0f}" if head in by else "" for head in heads]
        lines.append(f"| {name}, {mine[0]['rare']} ({mine[0]['rare_rows']}) | {learner} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure all sets that are at hand, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixing", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--sets", nargs="*", default=sorted(STORED))
    parser.add_argument("--to", type=Path, default=Path("benchmarks/results/mixing.json"))
    words = parser.parse_args()
    found: list[dict[str, Any]] = []
    for name in words.sets:
        if find_set(name) is None:
            print(f"{name}: {ABSENT}")
            continue
        found += measure(name, words.rows)
    words.to.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))


if __name__ == "__main__":
    main()
