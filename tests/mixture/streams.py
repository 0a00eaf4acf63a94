"""Small streams with everything in them: numbers, text, absent values, columns and classes that come later."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

__all__ = ["frame_of", "mixed_stream", "same_state"]


def mixed_stream(rows: int, classes: int = 2, seed: int = 1) -> tuple[list[dict[str, Any]], list[Any]]:
    draw = np.random.default_rng(seed)
    x, labels = [], []
    for i in range(rows):
        size, weight = draw.normal(size=2)
        shape = ("round", "flat", "long")[int(draw.integers(3))]
        row: dict[str, Any] = {"size": float(size), "weight": float(np.exp(weight)), "shape": shape}
        if draw.random() < 0.3:
            row["age"] = float(draw.integers(5))
        if i > rows // 3:
            row["late"] = bool(draw.random() < 0.5)
        x.append(row)
        score = size * (1.0 if shape == "round" else -1.0) + 0.3 * draw.normal()
        known = min(classes, 2 + 3 * i // rows * (classes > 2)) if classes > 2 else 2
        labels.append(score > 0 if classes == 2 else f"class {int(np.clip(score + 1.5, 0, known - 1))}")
    return x, labels


def frame_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows)
    for name in frame.columns:
        if frame[name].dtype == object and name != "shape":
            frame[name] = frame[name].astype(float)
    return frame


def same_state(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether two states are equal to the bit."""
    if one.keys() != other.keys():
        return False
    return all(
        np.array_equal(value, other[name]) if isinstance(value, np.ndarray) else value == other[name]
        for name, value in one.items()
    )
