"""What is refused, in which words, and that nothing is learned from it."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from learners import PUBLIC
from stream_maxloss.linear import (
    LLD,
    LLM,
    AbsoluteOGD,
    BalancedWinnow,
    HingeOGD,
    MarginPursuit,
    Pegasos,
    Perceptron,
    Scaler,
    Winnow,
)

LEARNERS: dict[str, Callable[[], Any]] = {
    **PUBLIC,
    "Perceptron-averaged": lambda: Perceptron(averaged=True),
    "Perceptron-large": lambda: Perceptron(hash_bits=15),
    "MarginPursuit": lambda: MarginPursuit(scale="data", warmup=3),
    "LLM": lambda: LLM(update_epsilon=True),
    "Scaler | Perceptron": lambda: Scaler() | Perceptron(),
    "Scaler | LLD-hashed": lambda: Scaler() | LLD(hash_bits=4),
    "Scaler | AbsoluteOGD": lambda: Scaler() | AbsoluteOGD(),
}
GOOD = pa.table({"a": [0.0, 1.0, 0.5], "b": [1.0, 0.25, 0.0]})
LABELS = [0, 1, 0]


def state(model: Any) -> Any:
    """Return all that a model has learned, in a form that compares equal only if it is the same."""
    steps = list(model.steps.values()) if hasattr(model, "steps") else [model]
    states = [step.state_dict() for step in steps]
    return [{k: v.tobytes() if isinstance(v, np.ndarray) else v for k, v in part.items()} for part in states]


def taught(learner: str) -> Any:
    model = LEARNERS[learner]()
    model.learn_many(GOOD, LABELS)
    return model


def refuse(model: Any, act: Callable[[Any], None], message: str, kind: type[Exception] = ValueError) -> None:
    """Assert that an act is refused in one line with a remedy, and has taught nothing."""
    before = state(model)
    twin = pickle.loads(pickle.dumps(model))
    with pytest.raises(kind, match=message) as caught:
        act(model)
    text = str(caught.value)
    assert "\n" not in text
    assert ";" in text, "the message ends with a remedy"
    assert state(model) == before
    for each in (model, twin):
        each.learn_one({"a": 1.0, "b": 0.5}, 1)
    assert state(model) == state(twin), "a refused row leaves nothing behind that a later row would meet"


# Logistic takes any labels, and has none to predict before the first came.
ANY_LABELS = [name for name in LEARNERS if "Logistic" in name]
CLASSIFIERS = [name for name in LEARNERS if "Absolute" not in name and name not in ANY_LABELS]


@pytest.mark.parametrize("label", [2, "yes", None, 0.5, math.nan, [1]], ids=repr)
@pytest.mark.parametrize("learner", CLASSIFIERS)
def test_a_label_that_is_not_binary_is_refused(learner: str, label: Any) -> None:
    message = r"label must be a bool, 0/1 or -1/\+1, got .*; for more than two classes use river.multiclass.OneVsRest"
    refuse(taught(learner), lambda m: m.learn_one({"a": 1.0, "new": 1.0}, label), message)


@pytest.mark.parametrize("labels", [[0, 1, 2], [True, False, None], ["a", "b", "c"], [0.0, 1.0, math.nan]], ids=repr)
@pytest.mark.parametrize("learner", CLASSIFIERS)
def test_a_batch_with_a_label_that_is_not_binary_is_refused(learner: str, labels: Any) -> None:
    message = r"label( of row \d)? must be a bool, 0/1 or -1/\+1, got "
    refuse(taught(learner), lambda m: m.learn_many(GOOD, labels), message)


@pytest.mark.parametrize("target", [math.inf, math.nan, "three", None], ids=repr)
@pytest.mark.parametrize("learner", ["AbsoluteOGD", "Scaler | AbsoluteOGD"])
def test_a_target_that_is_no_finite_number_is_refused(learner: str, target: Any) -> None:
    message = r"y must be a finite number, got .*; leave the row out"
    refuse(taught(learner), lambda m: m.learn_one({"a": 1.0, "new": 1.0}, target), message)
    message = r"y of row 1 must be a finite number, got .*; leave the row out"
    refuse(taught(learner), lambda m: m.learn_many(GOOD, np.array([1.0, target, 2.0], dtype=object)), message)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 10**400], ids=["inf", "-inf", "10^400"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_an_infinity_is_refused_by_name(learner: str, value: float) -> None:
    message = r"feature 'b' must be finite, got .*; clip it or leave it out"
    refuse(taught(learner), lambda m: m.learn_one({"a": 1.0, "b": value}, 1), message)
    refuse(taught(learner), lambda m: m.learn_one({"new": 1.0, "b": value}, 1), message)


FRAMES = {
    "dense": lambda bad: pa.table({"a": [1.0, 0.5, 0.25], "b": [0.5, 0.0, bad]}),
    "mixed": lambda bad: pa.table({"a": [1.0, 0.5, 0.25], "b": [0.5, 0.0, bad], "s": ["x", "y", None]}),
    "new": lambda bad: pa.table({"c": [1.0, 0.5, 0.25], "b": [0.5, 0.0, bad]}),
    "pandas": lambda bad: pd.DataFrame({"a": [None, None, None], "b": [0.5, 0.0, bad]}, dtype=float),
}


@pytest.mark.parametrize("form", FRAMES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_an_infinity_in_mid_batch_is_refused_by_row_and_name(learner: str, form: str) -> None:
    name = r"'(b|#\d+)'( of row 2)?" if learner in ("Perceptron-large", "Scaler | LLD-hashed") else "'b' of row 2"
    message = rf"feature {name} must be finite, got -?inf; clip it or leave it out"
    refuse(taught(learner), lambda m: m.learn_many(FRAMES[form](math.inf), LABELS), message)


def test_an_infinity_far_down_a_long_batch_undoes_every_stretch() -> None:
    values = np.zeros((700, 200))
    values[650, 3] = np.inf
    table = pa.table({f"f{j}": values[:, j] for j in range(200)})
    model = taught("Perceptron")
    refuse(
        model, lambda m: m.learn_many(table, np.arange(700) % 2), r"feature 'f3' of row 650 must be finite, got inf;"
    )
    assert set(model.weights) == {"a", "b"}


@pytest.mark.parametrize("form", ["dense", "mixed", "new"])
@pytest.mark.parametrize("value", [-0.5, 1.5])
def test_winnow_refuses_what_lies_outside_its_domain(form: str, value: float) -> None:
    message = rf"feature 'b'( of row 2)? must lie in \[0, 1\] for Winnow, got {value}; rescale it or use BalancedWinnow"
    refuse(taught("Winnow"), lambda m: m.learn_one({"a": 1.0, "b": value}, 1), message)
    refuse(taught("Winnow"), lambda m: m.learn_many(FRAMES[form](value), LABELS), message)


def test_hashed_winnow_refuses_a_negative_feature_but_takes_sums_of_colliding_ones() -> None:
    model = Winnow(theta=2.0, hash_bits=1)
    model.learn_one({"a": 1.0, "b": 1.0, "c": 1.0}, True)
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\] for Winnow, got -1.0"):
        model.learn_one({"a": -1.0}, True)


def test_winnow_behind_a_scaler_is_told_the_scaled_value() -> None:
    model = Scaler() | Winnow()
    nothing = pa.array([None, None, None], pa.float64())
    with pytest.raises(ValueError, match=r"feature 'a' of row 2 must lie in \[0, 1\] for Winnow, got 1\.4"):
        model.learn_many(pa.table({"0": nothing, "a": [0.1, 0.2, 0.9]}), LABELS)
    assert model["Scaler"].counts == {}


@pytest.mark.parametrize("w", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_sample_weight_must_be_positive(learner: str, w: float) -> None:
    message = r"w( of row \d)? must be positive and finite, got .*; leave out rows that should not count"
    refuse(taught(learner), lambda m: m.learn_one({"a": 1.0, "new": 1.0}, 1, w=w), message)
    refuse(taught(learner), lambda m: m.learn_many(GOOD, LABELS, w=w), message)
    refuse(taught(learner), lambda m: m.learn_many(GOOD, LABELS, w=[1.0, 1.0, w]), message)


@pytest.mark.parametrize("learner", LEARNERS)
def test_labels_and_weights_must_be_as_many_as_rows(learner: str) -> None:
    for labels in ([0, 1], [0, 1, 0, 1], []):
        before = state(model := taught(learner))
        with pytest.raises(ValueError, match=rf"y must have one label per row of X, got {len(labels)}"):
            model.learn_many(GOOD, labels)
        assert state(model) == before


def test_weights_must_be_as_many_as_rows() -> None:
    with pytest.raises(ValueError, match=r"w must be one number or one per row, got 2 for 3 rows"):
        Perceptron().learn_many(GOOD, LABELS, w=[1.0, 2.0])


@pytest.mark.parametrize(
    "learner", ["Perceptron", "Perceptron-averaged", "Perceptron-large", "HingeOGD", "AbsoluteOGD"]
)
def test_a_score_that_overflows_is_refused_in_mid_batch(learner: str) -> None:
    model = LEARNERS[learner]()
    huge = pa.table({"a": [1.0, 1e200, 1e200], "b": [1.0, None, 1e200]})
    model.learn_one({"a": 1.0, "b": -1.0}, 1, w=1e200)
    refuse(model, lambda m: m.learn_many(huge, [0, 0, 0]), r"makes the score overflow, got 1e\+200; use Scaler\(\) \|")


@pytest.mark.parametrize("value", [[1.0], {"x": 1}, object, b"bytes", 1j], ids=repr)
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_value_of_no_known_kind_is_refused(learner: str, value: Any) -> None:
    message = r"feature 'b' must be (a number, a boolean, text or None|a list of texts), got .*; (convert|spread)"
    refuse(taught(learner), lambda m: m.learn_one({"a": 1.0, "b": value}, 1), message, TypeError)


def test_a_column_of_no_known_type_is_refused() -> None:
    table = GOOD.append_column("when", pa.array([1, 2, 3], pa.date32()))
    message = r"column 'when' must hold numbers, booleans, text, lists of text or maps, got date32.*; put .*Intake\(\)"
    refuse(taught("Perceptron"), lambda m: m.learn_many(table, LABELS), message)
    frame = pd.DataFrame({"b": [1.0, "red", 2.0]})
    refuse(taught("Perceptron"), lambda m: m.learn_many(frame, LABELS), r"a column must hold one type of value")


@pytest.mark.parametrize("learner", ["Perceptron", "Scaler | Perceptron"])
def test_a_column_that_turns_from_number_to_text_becomes_the_feature_of_its_value(learner: str) -> None:
    one, many = LEARNERS[learner](), LEARNERS[learner]()
    for x, y in [({"c": 2.0}, 0), ({"c": "red"}, 0), ({"c": 3.0}, 1)]:
        one.learn_one(x, y)
        many.learn_many(pa.table({name: [value] for name, value in x.items()}), [y])
    for model in (one, many):
        weights = (model[-1] if hasattr(model, "steps") else model).weights
        assert set(weights) == {"c", "c=red"}
    assert one.predict_proba_one({"c": "red"}) == many.predict_proba_one({"c": "red"})


@pytest.mark.parametrize("learner", LEARNERS)
def test_an_empty_batch_teaches_nothing_and_answers_nothing(learner: str) -> None:
    model = taught(learner)
    before = state(model)
    for empty in (GOOD.slice(0, 0), GOOD.slice(0, 0).to_pandas(), GOOD.to_batches()[0].slice(0, 0), pa.table({})):
        model.learn_many(empty, [])
        assert len(model.predict_many(empty)) == 0
    assert state(model) == before


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_row_without_features_teaches_the_intercept_alone(learner: str) -> None:
    one, many = LEARNERS[learner](), LEARNERS[learner]()
    for y in (0, 1, 0):
        said = one.predict_one({})
        assert said in (True, False) or isinstance(said, float) or (learner in ANY_LABELS and said is None)
        one.learn_one({}, y)
    many.learn_many(pd.DataFrame(index=range(3)), [0, 1, 0])
    a, b = (model[-1] if hasattr(model, "steps") else model for model in (one, many))
    assert a.weights == b.weights
    assert not any(a.weights.values())
    assert a.intercept == b.intercept
    assert a.n_rows == b.n_rows == 3


PARAMETERS = {
    "lr=0": (lambda: HingeOGD(lr=0.0), r"lr must be positive, got 0.0; 0.1 is a good start"),
    "lr=nan": (lambda: LLD(lr=math.nan), r"lr must be positive, got nan; 0.1"),
    "lr=text": (lambda: AbsoluteOGD(lr="fast"), r"lr must be positive, got 'fast'; 0.1"),
    "margin=-1": (lambda: HingeOGD(margin=-1), r"margin must be positive, got -1; 1 is the usual hinge"),
    "radius=0": (lambda: HingeOGD(radius=0), r"radius must be positive, got 0; use None for no ball"),
    "schedule": (lambda: HingeOGD(schedule="fast"), r"schedule must be one of 'sqrt', 'constant', got 'fast'"),
    "l2=inf": (lambda: Pegasos(l2=math.inf), r"l2 must be positive, got inf; 0.01"),
    "beta=1": (lambda: Winnow(beta=1.0), r"beta must be greater than 1, got 1.0; 2 is"),
    "beta=inf": (lambda: BalancedWinnow(beta=math.inf), r"beta must be greater than 1, got inf; 1.1 is"),
    "theta=0": (lambda: Winnow(theta=0.0), r"theta must be positive, got 0.0; use None"),
    "theta with hash": (lambda: Winnow(hash_bits=4), r"theta must be given with hash_bits, got None; hashed"),
    "hash_bits=0": (lambda: Perceptron(hash_bits=0), r"hash_bits must be a whole number .* 1 and 30, got 0; 18"),
    "hash_bits=31": (lambda: Perceptron(hash_bits=31), r"hash_bits must be .*, got 31; 18"),
    "hash_bits=4.0": (lambda: Perceptron(hash_bits=4.0), r"hash_bits must be .*, got 4.0; 18"),
    "mu=0": (lambda: LLD(mu=0), r"mu must be positive, got 0; 4 is"),
    "epsilon=0.5": (lambda: LLM(epsilon=0.5), r"epsilon must lie strictly between 0 and 0.5, got 0.5; at 1/2"),
    "gamma=0": (lambda: MarginPursuit(gamma=0), r"gamma must be positive, got 0; 1 is"),
    "scale=text": (lambda: MarginPursuit(scale="auto"), r"scale must be a positive number or 'data', got 'auto'; 1"),
    "scale=0": (lambda: MarginPursuit(scale=0), r"scale must be positive, got 0; use 'data'"),
    "step": (lambda: MarginPursuit(step="cube"), r"step must be one of 'sqrt', 'inverse', 'printed', got 'cube'"),
    "warmup=2.5": (lambda: MarginPursuit(scale="data", warmup=2.5), r"warmup must be a whole number .*, got 2.5; 500"),
    "delta=1": (lambda: MarginPursuit(delta=1.0), r"delta must lie strictly between 0 and 1, got 1.0; 0.05"),
    "low above high": (lambda: AbsoluteOGD(low=2.0, high=1.0), r"low must be below high, got 2.0 and 1.0; swap them"),
}


@pytest.mark.parametrize(("construct", "message"), PARAMETERS.values(), ids=PARAMETERS)
def test_a_parameter_out_of_range_is_refused(construct: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        construct()
    assert "\n" not in str(caught.value)
