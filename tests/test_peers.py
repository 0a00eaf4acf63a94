"""Other implementations, and the definitions in a few lines of numpy, give the same weights after every row."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import datasets, linear_model, optim, preprocessing

from stream_maxloss.linear import LLD, LLM, HingeOGD, MarginPursuit, Pegasos, Perceptron, Scaler

DATA = Path(os.environ.get("STREAM_MAXLOSS_DATA", Path(__file__).parents[2] / "shared" / "data"))
Row = tuple[dict[str, float], bool]


def phishing() -> list[Row]:
    return list(datasets.Phishing())


def spambase() -> list[Row]:
    path = DATA / "spambase" / "spambase.parquet"
    if not path.exists():
        pytest.skip(f"spambase is not at {path}; set STREAM_MAXLOSS_DATA to the folder of the data sets")
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    labels = np.array(table.column("label")).astype(bool).tolist()
    rows = table.drop_columns(["label"]).to_pylist()
    # The file is sorted by class, all spam first.
    order = np.random.default_rng(0).permutation(len(rows))[:2000]
    return [(rows[i], labels[i]) for i in order]


STREAMS = {"phishing": phishing, "spambase": spambase}


@pytest.fixture(scope="module", params=STREAMS)
def stream(request: Any) -> list[Row]:
    return STREAMS[request.param]()


def scaled(stream: list[Row]) -> Iterator[Row]:
    scaler = Scaler()
    for x, y in stream:
        scaler.learn_one(x)
        yield scaler.transform_one(x), y


def assert_same_after_every_row(stream: list[Row], ours: Any, theirs: Any) -> None:
    for x, y in stream:
        score = ours._model.score(x)
        if score != 0.0:
            assert ours.predict_one(x) == theirs.predict_one(x)
        ours.learn_one(x, y)
        theirs.learn_one(x, y)
        weights = theirs.weights
        assert ours.weights == pytest.approx(
            {name: weights.get(name, 0.0) for name in ours.weights}, rel=1e-9, abs=1e-9
        )
        assert ours.intercept == pytest.approx(theirs.intercept, rel=1e-9, abs=1e-9)


def test_perceptron_has_the_weights_of_rivers(stream: list[Row]) -> None:
    assert_same_after_every_row(stream, Perceptron(), linear_model.Perceptron())


def test_hinge_descent_with_a_constant_step_has_the_weights_of_rivers_hinge_regression(stream: list[Row]) -> None:
    lr = 0.05
    theirs = linear_model.LogisticRegression(loss=optim.losses.Hinge(), optimizer=optim.SGD(lr), intercept_lr=lr)
    assert_same_after_every_row(list(scaled(stream)), HingeOGD(lr=lr, schedule="constant"), theirs)


def vectors(stream: list[Row]) -> tuple[np.ndarray, np.ndarray]:
    """Return the scaled rows with a constant 1 at the end, and the labels as signs."""
    rows = list(scaled(stream))
    return np.array([[*x.values(), 1.0] for x, _ in rows]), np.array([1.0 if y else -1.0 for _, y in rows])


def learned(model: Any, names: list[str]) -> list[float]:
    return [*(model.weights[name] for name in names), model.intercept]


def test_pegasos_is_its_definition(stream: list[Row]) -> None:
    l2 = 0.01
    model, names = Pegasos(l2=l2), list(stream[0][0])
    X, y = vectors(stream)
    w = np.zeros(X.shape[1])
    for t, (x, sign) in enumerate(zip(X, y, strict=True), 1):
        z = sign * (w @ x)
        w = (1.0 - 1.0 / t) * w + (sign * x / (l2 * t) if z < 1.0 else 0.0)
        w *= min(1.0, 1.0 / math.sqrt(l2) / max(np.linalg.norm(w), 1e-300))
        model.learn_one(dict(zip(names, x[:-1].tolist(), strict=True)), sign)
        assert learned(model, names) == pytest.approx(w.tolist(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("step", "scale"), [("inverse", 1.0), ("inverse", 0.1), ("sqrt", 1.0), ("sqrt", 5.0)])
def test_margin_pursuit_is_its_definition(stream: list[Row], step: str, scale: float) -> None:
    gamma, l2 = 1.0, 0.1
    model, names = MarginPursuit(gamma=gamma, scale=scale, l2=l2, step=step, intercept=False), list(stream[0][0])
    X, y = vectors(stream[:1000])
    # Rows of length about 1: on much longer ones a step overshoots, and the last digit's rounding grows with each.
    X = X / math.sqrt(X.shape[1])
    w = np.zeros(X.shape[1])
    for t, (x, sign) in enumerate(zip(X, y, strict=True), 1):
        u = (gamma - sign * (w @ x)) / scale
        psi = u - u**3 / 6.0 if abs(u) <= math.sqrt(2.0) else math.copysign(2.0 * math.sqrt(2.0) / 3.0, u)
        alpha = min(1.0 / l2, 1.0 / (scale * (l2 * t if step == "inverse" else math.sqrt(l2 * (1.0 + t)))))
        w = (1.0 - alpha * l2) * w + alpha * scale * psi * sign * x
        w *= min(1.0, 1.0 / math.sqrt(l2) / max(np.linalg.norm(w), 1e-300))
        # Our own constant feature would be 1, so the scaled one goes in as a feature.
        model.learn_one(dict(zip([*names, "constant"], x.tolist(), strict=True)), sign)
        assert learned(model, [*names, "constant"])[:-1] == pytest.approx(w.tolist(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.001, 0.05, 0.3])
def test_llm_with_a_known_noise_rate_is_lld(stream: list[Row], epsilon: float) -> None:
    mixture, difference = LLM(epsilon=epsilon), LLD(mu=math.log((1.0 - epsilon) / epsilon))
    for x, y in scaled(stream):
        mixture.learn_one(x, y)
        difference.learn_one(x, y)
        assert mixture.intercept == pytest.approx(difference.intercept, rel=1e-9, abs=1e-12)
    assert mixture.weights == pytest.approx(difference.weights, rel=1e-9, abs=1e-12)


def test_llm_goes_the_way_of_figure_1_by_an_implicit_step(stream: list[Row]) -> None:
    epsilon, lr = 0.1, 0.1
    model, names = LLM(epsilon=epsilon, lr=lr), list(stream[0][0])
    X, y = vectors(stream[:500])
    w = np.zeros(X.shape[1])
    for x, sign in zip(X, y, strict=True):
        z = sign * (w @ x)
        a = epsilon / ((1.0 - epsilon) * math.exp(z) + epsilon)
        q = 1.0 / (1.0 + math.exp(z))
        # Figure 1's direction; the length is that of an implicit step, so that lr counts on rows of any length.
        w = w + lr / (1.0 + lr * (x @ x) / 4.0) * ((1.0 - a) * q - a * (1.0 - q)) * sign * x
        model.learn_one(dict(zip(names, x[:-1].tolist(), strict=True)), sign)
        assert learned(model, names) == pytest.approx(w.tolist(), rel=1e-9, abs=1e-9)


def test_scaler_gives_what_rivers_standard_scaler_gives(stream: list[Row]) -> None:
    ours, theirs = Scaler(), preprocessing.StandardScaler()
    for x, _ in stream:
        ours.learn_one(x)
        theirs.learn_one(x)
        assert ours.transform_one(x) == pytest.approx(theirs.transform_one(x), rel=1e-7, abs=1e-7)
