"""Models under hostile values and threads: an error at most, never a corrupted heap. Each runs in a child process."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import Perceptron

COMMON = """
import gc, sys, threading
import numpy as np
import pyarrow as pa
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Perceptron, Scaler

def many_names(k):
    return {f"n{k}-{j}": 1.0 for j in range(40)}
"""
REENTRANT_FLOAT = """
import numbers
class Sly(float):
    calls = 0
    def __float__(self):
        Sly.calls += 1
        model.learn_one(many_names(Sly.calls), True)
        gc.collect()
        return 1.0
numbers.Real.register(Sly)
class Number:
    calls = 0
    def __float__(self):
        Number.calls += 1
        model.learn_one(many_names(Number.calls), True)
        return 1.0
numbers.Real.register(Number)
for k in range(50):
    model.learn_one({"a": 1.0, "b": 2.0}, True)
    model.learn_one({"a": 1.0, "b": Number()}, False)
    model.learn_one({"a": 1.0, "b": Sly(1.0)}, False)
    model.predict_one({"a": Number(), "b": 1.0})
print("done", Number.calls >= 100)
"""
REENTRANT_NAME = """
class Name(str):
    active = False
    calls = 0
    def __hash__(self):
        return str.__hash__(self)
    def __eq__(self, other):
        if Name.active:
            Name.active = False
            Name.calls += 1
            try:
                model.learn_one(many_names(Name.calls), True)
            except RuntimeError:
                pass
            Name.active = True
        return str.__eq__(self, other)
for k in range(50):
    model.learn_one({"a": 1.0, "b": 2.0}, True)
    x = {Name("a"): 1.0, Name("b"): 2.0}
    Name.active = True
    try:
        model.learn_one(x, True)
    except RuntimeError:
        pass
    Name.active = False
print("done", Name.calls > 0)
"""
THREADS = """
sys.setswitchinterval(1e-6)
refused = []
def work(seed):
    generator = np.random.default_rng(seed)
    for k in range(400):
        x = {f"f{j}": 1.0 for j in generator.integers(0, 50 * (k + 1), 20)}
        try:
            model.learn_one(x, bool(generator.random() < 0.5))
            model.predict_one(x)
            if k % 20 == 0:
                model.learn_many(pa.table({f"t{seed}-{k}-{j}": [1.0, float("inf")] for j in range(30)}), [True, False])
        except RuntimeError as error:
            refused.append(str(error))
        except ValueError:
            pass
threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("done", all("thread" in text for text in refused))
"""
READERS = """
sys.setswitchinterval(1e-6)
alone, taught, answers, wrong = model.clone(), threading.Event(), [], []
table = pa.table({f"f{j}": np.random.default_rng(j).normal(size=200) for j in range(8)})
rows = table.to_pylist()
def teach(model):
    for k, row in enumerate(rows):
        # The first names again and again, and new ones now and then.
        model.learn_one(row if k % 10 else row | {f"n{k}-{j}": 1.0 for j in range(20)}, row["f0"] > 0.0)
        if k % 40 == 0:
            model.learn_many(table, [x["f1"] > 0.0 for x in rows])
def read():
    while not taught.is_set():
        for answer in (lambda: model.predict_one(rows[0]), lambda: model.predict_many(table)[7].as_py(),
                       lambda: model.predict_proba_one(rows[0] | {"n40-1": 1.0})[True] >= 0.0):
            try:
                answers.append(answer() in (True, False))
            except RuntimeError as error:
                answers.append("thread" in str(error))
            except Exception as error:
                wrong.append(repr(error))
readers = [threading.Thread(target=read) for _ in range(3)]
for reader in readers: reader.start()
teach(model)
taught.set()
for reader in readers: reader.join()
teach(alone)
def bits(model):
    return [np.asarray(value).tobytes() for value in model.state_dict().values()]
print(wrong, file=sys.stderr)
# Between a focused row's lesson and its entry into the window a prediction may come, which uses the same place.
same = isinstance(model, FocusedClassifier) or bits(model) == bits(alone)
print("done", not wrong and len(answers) > 0 and all(answers) and same)
"""
MODELS = {
    "bare": "model = HingeOGD()",
    "focused": "model = FocusedClassifier(HingeOGD(), window=50, replays=3, seed=1)",
    "scaled": "model = Scaler() | Perceptron()",
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("script", [REENTRANT_FLOAT, REENTRANT_NAME, THREADS], ids=["float", "name", "threads"])
def test_a_hostile_caller_cannot_corrupt_memory(model, script) -> None:
    run(model, script)


@pytest.mark.parametrize("model", MODELS)
def test_predicting_while_another_thread_learns_is_answered_or_refused_and_leaves_linear_learners_alone(model) -> None:
    run(model, READERS)


def run(model: str, script: str) -> None:
    child = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", f"{COMMON}{MODELS[model]}\n{script}"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=None,
    )
    assert (child.returncode, child.stdout.split()) == (0, ["done", "True"]), child.stderr[-2000:]


class OnlyFloat:
    def __float__(self) -> float:
        return 1.0


@pytest.mark.parametrize(
    "make", [Perceptron, lambda: FocusedClassifier(Perceptron(), window=5)], ids=["bare", "focused"]
)
@pytest.mark.parametrize("value", [1j, np.array(1.0), OnlyFloat(), b"1"], ids=["complex", "array", "float", "bytes"])
def test_a_value_that_is_no_number_is_refused_whatever_came_before(make, value) -> None:
    model = make()
    for before in (0, 1, 2):
        with pytest.raises(TypeError, match="feature 'a' must be a number"):
            model.learn_one({"a": value}, True)
        assert getattr(model, "classifier", model).n_rows >= before
        model.learn_one({"a": 1.0}, True)


@pytest.mark.parametrize("value", [Fraction(1, 2), np.float32(0.5), np.int8(1), True], ids=str)
def test_a_number_is_learned_whatever_came_before(value) -> None:
    first, second = Perceptron(), Perceptron()
    first.learn_one({"a": value}, False)
    second.learn_one({"a": 1.0}, True)
    rows = second.n_rows
    second.learn_one({"a": value}, False)
    assert (first.n_rows, second.n_rows) == (1, rows + 1)
