"""The oracles are NumPy over all values, and plain dicts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from stream_maxloss.linear import HingeOGD, Logistic, Pegasos, Scaler
from stream_maxloss.linear.merging import mix_learners, mix_scalers
from stream_maxloss.linear.statistics import COUNT, MEAN, SPREAD


def table(values, names):
    return pa.table({name: values[:, place] for place, name in enumerate(names)})


def statistics(scaler, name):
    return scaler._statistics[:, scaler._features.find(name)]


def test_scalers_of_many_rounds_agree_with_one_pass_to_1e_12():
    generator = np.random.default_rng(3)
    values = generator.normal([1e3, -5.0], [2.0, 100.0], size=(12_000, 2))
    scalers, base = [Scaler() for _ in range(4)], None
    for rows in np.split(values, 40):
        for scaler, part in zip(scalers, np.split(rows, 4), strict=True):
            scaler.learn_many(table(part, "ab"))
        mix_scalers(scalers, base)
        base = Scaler()
        base.load_state_dict(scalers[0].state_dict())
    for scaler in scalers:
        for place, name in enumerate("ab"):
            found = statistics(scaler, name)
            assert found[COUNT] == 12_000
            assert found[MEAN] == pytest.approx(values[:, place].mean(), rel=1e-12)
            assert found[SPREAD] == pytest.approx(((values[:, place] - values[:, place].mean()) ** 2).sum(), rel=1e-12)


def test_a_column_that_one_scaler_has_seen_is_known_to_all():
    first, second = Scaler(), Scaler()
    for value in (1.0, 3.0):
        first.learn_one({"a": value})
        second.learn_one({"b": 10 * value})
    mix_scalers([first, second], None)
    for scaler in (first, second):
        assert statistics(scaler, "a").tolist() == [2.0, 2.0, 2.0]
        assert statistics(scaler, "b").tolist() == [2.0, 20.0, 200.0]


def taught(kind, rows):
    learner = kind()
    for x, y in rows:
        learner.learn_one(x, y)
    return learner


ROWS = [({"a": 1.0, "b": -2.0}, True), ({"b": 1.0, "c": 3.0}, False), ({"a": -1.0}, False)] * 5
OTHERS = [({"c": 1.0}, True), ({"d": 2.0, "a": 0.5}, False), ({"b": 1.0}, True)] * 4


@pytest.mark.parametrize("kind", [HingeOGD, Pegasos], ids=lambda kind: kind.__name__)
def test_weights_are_averaged_by_name_with_the_lazy_scale_folded_in(kind):
    first, second = taught(kind, ROWS), taught(kind, OTHERS)
    names = {*first.weights, *second.weights}
    expected = {name: 0.25 * first.weights.get(name, 0.0) + 0.75 * second.weights.get(name, 0.0) for name in names}
    constant = 0.25 * first.intercept + 0.75 * second.intercept
    mix_learners([first, second], [0.25, 0.75])
    for learner in (first, second):
        assert dict(learner.weights) == pytest.approx(expected, abs=1e-15)
        assert learner.intercept == pytest.approx(constant, abs=1e-15)


def test_a_mixed_learner_keeps_learning():
    first, second = taught(HingeOGD, ROWS), taught(HingeOGD, OTHERS)
    mix_learners([first, second], [0.5, 0.5])
    before = dict(first.weights)
    first.learn_one({"a": 1.0, "e": 1.0}, True)
    assert dict(first.weights) != before
    assert dict(second.weights) == pytest.approx(before)


def test_logistic_learners_with_the_same_labels_are_averaged():
    first, second = taught(Logistic, ROWS), taught(Logistic, [ROWS[0], ROWS[1], *OTHERS])
    names = {*first.weights, *second.weights}
    expected = {name: (first.weights.get(name, 0.0) + second.weights.get(name, 0.0)) / 2 for name in names}
    constant = (first.intercept + second.intercept) / 2
    mix_learners([first, second], [0.5, 0.5])
    assert dict(second.weights) == pytest.approx(expected, abs=1e-15)
    assert second.intercept == pytest.approx(constant, abs=1e-15)


def test_labels_in_another_order_are_refused():
    first, second = (taught(Logistic, [(x, names[y]) for x, y in ROWS]) for names in ("uv", "vu"))
    with pytest.raises(ValueError, match="the same labels in the same order"):
        mix_learners([first, second], [0.5, 0.5])
