"""Models for the tests of runs: one that never comes to an end, one that breaks."""

from __future__ import annotations

from river import base


class Endless(base.Classifier):
    """Computes for ever on its first row."""

    def learn_one(self, x, y):
        while True:
            pass

    def predict_proba_one(self, x):
        return {}


class Broken(base.Classifier):
    """Breaks on its first row."""

    def learn_one(self, x, y):
        raise RuntimeError("it broke")

    def predict_proba_one(self, x):
        return {}
