"""Finite classes as tables, and streams that one of their concepts explains."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def count_mistakes(model, stream) -> int:
    """Predict, then learn, and count the wrong predictions from outside."""
    mistakes = 0
    for x, y in stream:
        mistakes += model.predict_one(x) != y
        model.learn_one(x, y)
    return mistakes


@pytest.fixture(scope="session")
def prequential_mistakes() -> Callable:
    return count_mistakes
