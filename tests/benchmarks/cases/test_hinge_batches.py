from __future__ import annotations

import numpy as np
import pytest

from benchmarks.cases import hinge_batches
from benchmarks.data import dense_rows


def test_both_systems_learn_the_same_weights_from_the_same_rows():
    # Else the comparison would not be like for like: scikit-learn steps where the margin is below 1, ours also at 1.
    from sklearn.linear_model import SGDClassifier

    from benchmarks.data import as_batches
    from stream_maxloss.linear import HingeOGD

    X, y = dense_rows(3000, 5)
    theirs = SGDClassifier(loss="hinge", learning_rate="constant", eta0=hinge_batches.LR, penalty=None, shuffle=False)
    ours = HingeOGD(lr=hinge_batches.LR, schedule="constant")
    for first in range(0, 3000, 1000):
        theirs.partial_fit(X[first : first + 1000], y[first : first + 1000].astype(int), classes=[0, 1])
    for batch, labels in as_batches(X, y, 1000):
        ours.learn_many(batch, labels)
    weights = np.array([ours.weights[f"feature_{j}"] for j in range(5)])
    np.testing.assert_allclose(weights, theirs.coef_[0], rtol=1e-9)
    np.testing.assert_allclose(ours.intercept, theirs.intercept_[0], rtol=1e-9)


@pytest.mark.parametrize("system", ["stream_maxloss", "scikit-learn", "one pass"])
def test_every_system_passes_over_all_rows(system):
    assert hinge_batches.prepare(system, {"features": 3, "rows": 2500, "length": 1000})() == 2500


def test_targets_are_for_batches_of_the_usual_length_alone():
    targets = {point.name: point.targets for point in hinge_batches.points(quick=False) if point.targets}
    assert targets == {f"{n}-16k": {"scikit-learn": least} for n, least in ((5, 5.0), (20, 5.0), (500, 1.8))}
