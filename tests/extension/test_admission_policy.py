from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from stream_maxloss import FocusedClassifier, HingeOGD, checkpoint
from stream_maxloss.focus import Admission
from stream_maxloss.focus.gate import Gate
from third_party import tail_twice

FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def policy():  # type: ignore[no-untyped-def]
    sys.path.insert(0, str(FOLDER))
    try:
        import admission_policy

        yield admission_policy
    finally:
        sys.path.remove(str(FOLDER))


def rows(count: int = 300) -> pa.Table:
    chance = np.random.default_rng(3)
    a, b = chance.normal(size=count), chance.normal(size=count)
    return pa.table({"a": a, "b": b, "y": a + 0.5 * b + 0.3 * chance.normal(size=count) > 0})


def test_a_policy_from_outside_decides_who_enters(policy) -> None:
    gate = Gate(policy.EveryNth(3), capacity=2)
    assert gate.settle_many(np.zeros(10)).tolist() == [0, -1, -1, 1, -1, -1, 0, -1, -1, 1]


def test_it_learns_the_same_bits_at_both_speeds_and_after_a_resume(policy, tmp_path: Path) -> None:
    table = rows()
    X, y = table.drop("y"), table["y"].to_pylist()
    whole, by_row, halves = (policy.make_model() for _ in range(3))
    whole.learn_many(X, y)
    for x, label in zip(X.to_pylist(), y, strict=True):
        by_row.learn_one(x, label)
    halves.learn_many(X.slice(0, 150), y[:150])
    checkpoint.save(tmp_path, halves)
    halves = checkpoint.load(tmp_path)
    halves.learn_many(X.slice(150), y[150:])
    assert_equal_states(whole, by_row)
    assert_equal_states(whole, halves)


def assert_equal_states(one: object, other: object) -> None:
    for learner in ("FocusedClassifier", "Scaler"):
        left, right = (model[learner].state_dict() for model in (one, other))  # type: ignore[index]
        for name, value in left.items():
            np.testing.assert_array_equal(value, right[name], err_msg=name)
    x = {"a": 0.3, "b": -0.2}
    assert one.predict_proba_one(x) == other.predict_proba_one(x)  # type: ignore[attr-defined]


def test_the_command_line_runs_and_resumes_it(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "admission_policy.py", tmp_path)
    pa.csv.write_csv(rows(), tmp_path / "rows.csv")
    tail_twice(tmp_path, 300, "rows.csv", "--target", "y", "--model", "admission_policy:make_model")


def test_a_policy_that_says_nothing_is_refused() -> None:
    class Silent(Admission):
        """Has no place()."""

    with pytest.raises(TypeError, match=r"must define place\(\), got Silent\(\)"):
        FocusedClassifier(HingeOGD(), admission=Silent())


def test_a_slot_that_does_not_exist_is_refused(policy) -> None:
    class Beyond(policy.EveryNth):  # type: ignore[misc, name-defined]
        @staticmethod
        def place(counts, settings, generator, queues, following, code):  # type: ignore[no-untyped-def]
            return 7

    with pytest.raises(ValueError, match=r"from 0 to 0 of 5, or -1, got 7; slots fill in order"):
        Gate(Beyond(), capacity=5).settle(None)
