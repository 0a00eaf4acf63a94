"""The game of Shalev-Shwartz & Wexler 2016 on a fixed sample: the window holds all of it, and nothing new comes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from stream_maxloss.focus import FocusedClassifier


def as_frame(X: np.ndarray) -> pd.DataFrame:
    """Name the columns of a matrix f0, f1, ..."""
    return pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])


def votes(m: int) -> int:
    """Give the k of Corollary 1, of the order of log m, and odd."""
    return 2 * math.ceil(math.log(m)) + 1


def start(learner, frame: pd.DataFrame, labels: np.ndarray, **options) -> FocusedClassifier:
    """Show a learner the whole sample once and keep it; with gamma=1 draws are uniform, which is SGD."""
    focused = FocusedClassifier(learner, window=len(frame), replays=0, snapshots=votes(len(frame)), **options)
    focused.learn_many(frame, labels)
    return focused


def rounds_until(focused, done: Callable[[], bool], most: float) -> float:
    """Replay in stretches of 5 % until done() holds; give the steps taken, arrivals included, or inf past `most`."""
    steps = int(focused.describe()["arrivals"])
    while not done():
        if steps > most:
            return math.inf
        stretch = max(1, steps // 20)
        focused.replay(stretch)
        steps += stretch
    return steps


def slope(x, y) -> float:
    """Give the exponent b of the power law y ~ x^b, by least squares on logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
