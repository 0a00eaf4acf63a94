from __future__ import annotations

import pytest

from stream_maxloss.linear import Pegasos


def test_the_first_row_forgets_the_start_and_later_ones_shrink_by_their_count() -> None:
    model = Pegasos(l2=1.0, intercept=False)
    model.learn_one({"a": 1.0}, True)
    assert model.weights == {"a": pytest.approx(1.0)}
    model.learn_one({"b": 0.5}, True)
    assert model.weights == pytest.approx({"a": 0.5, "b": 0.25})


def test_weights_never_leave_the_ball() -> None:
    model = Pegasos(l2=0.25)
    for t in range(50):
        model.learn_one({"a": 10.0 * (-1) ** t, "b": 3.0}, t % 3 == 0)
        assert sum(v * v for v in model.weights.values()) + model.intercept**2 <= 4.0 + 1e-9
