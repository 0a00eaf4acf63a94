from __future__ import annotations

import dataclasses
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import linear_model

from stream_maxloss.checkpoint import load, save
from stream_maxloss.concepts import Consistent, Elimination, Halving, OnlineToPAC, Stump, sample_size, stage_length

RATES = st.floats(0.001, 0.5)


@settings(deadline=None)
@given(epsilon=RATES, delta=RATES, stage=st.integers(1, 60))
def test_a_bad_hypothesis_survives_its_stage_with_probability_at_most_delta_i(epsilon, delta, stage):
    length = stage_length(epsilon, delta, stage)
    assert (1 - epsilon) ** length <= delta / 2**stage * (1 + 1e-9)
    # And no longer than asked: m_i is (1/epsilon) ln(1/delta_i) rounded up.
    assert length - 1 < math.log(2**stage / delta) / epsilon * (1 + 1e-12)


@settings(deadline=None)
@given(epsilon=RATES, delta=RATES, mistakes=st.integers(0, 60))
def test_sample_size_is_within_the_lecture_bound(epsilon, delta, mistakes):
    stages = mistakes + 1
    bound = stages / epsilon * ((stages + 1) / 2 + math.log(1 / delta))
    assert sample_size(epsilon, delta, mistakes) <= bound + stages  # each of the stages is rounded up


def test_the_lecture_bound_as_printed_counts_one_stage_too_few():
    epsilon, delta, mistakes = 0.1, 0.05, 3
    printed = mistakes / epsilon * ((mistakes + 1) / 2 + math.log(1 / delta))
    assert sum(stage_length(epsilon, delta, i) for i in range(1, mistakes + 1)) <= printed + mistakes
    assert sample_size(epsilon, delta, mistakes) > printed + mistakes + 1


@pytest.mark.parametrize("seed", range(20))
def test_certifies_within_the_sample_size_of_the_mistake_bound(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 40))
    target = Stump("a", rng.integers(size) / size)
    learner = [Consistent, Halving][seed % 2]([Stump("a", k / size) for k in range(size)])
    model = OnlineToPAC(learner, epsilon=0.1, delta=0.1)
    while not model.ready:
        x = {"a": rng.random()}
        model.learn_one(x, target(x))
    certificate = model.certificate
    assert certificate.stage <= learner.mistake_bound + 1
    assert certificate.rows == model.rows <= sample_size(0.1, 0.1, learner.mistake_bound)
    assert certificate.stage_rows == stage_length(0.1, 0.1, certificate.stage)


def test_certificates_fail_no_more_often_than_delta():
    # Thresholds on [0, 1): the true error of a certified stump is the distance of its threshold from the target's.
    epsilon, delta, trials, target = 0.1, 0.3, 400, 0.37
    rng = random.Random(11)
    failures = 0
    for _ in range(trials):
        stumps = [Stump("a", k / 100) for k in range(100)]
        rng.shuffle(stumps)
        model = OnlineToPAC(Consistent([*stumps, Stump("a", target)]), epsilon, delta)
        while not model.ready:
            a = rng.random()
            model.learn_one({"a": a}, a >= target)
        hypothesis = model.certificate.hypothesis
        certified = hypothesis.concepts[hypothesis.alive[0]].threshold
        failures += abs(certified - target) > epsilon
    # If the failure rate were delta, 400 trials would show more than delta + 3 sqrt(delta (1-delta)/400) = 0.369
    # once in 740 times; it is in fact well below, because each stage alone only risks delta / 2^i.
    assert failures / trials <= delta + 3 * math.sqrt(delta * (1 - delta) / trials)
    assert failures < delta * trials


def run_until_ready(seed=1, epsilon=0.05, delta=0.01):
    rng = random.Random(seed)
    model = OnlineToPAC(Elimination(), epsilon, delta)
    stream = []
    while not model.ready:
        x = {name: rng.random() < 0.5 for name in "abcdef"}
        stream.append((x, x["a"] or not x["d"]))
        model.learn_one(*stream[-1])
    return model, stream


def test_certificate_is_frozen_while_the_model_learns_on():
    model, _ = run_until_ready()
    issued = model.certificate
    literals = list(issued.hypothesis.literals)
    model.learn_one({"a": True}, False)  # a mistake: 'a' is struck out of the live model
    assert "a" not in model.model.literals
    assert issued.hypothesis.literals == literals
    assert model.certificate is issued
    assert (model.stage, model.run) == (issued.stage + 1, 0)
    assert model.ready
    assert issued.predict_one({"a": True, "d": True}) is True
    assert issued.predict_proba_one({"a": True, "d": True}) == {False: 0.0, True: 1.0}
    with pytest.raises(dataclasses.FrozenInstanceError):
        issued.epsilon = 1.0


def test_a_later_stage_replaces_the_certificate():
    model, _ = run_until_ready()
    first = model.certificate
    model.learn_one({"a": True, "d": True}, False)
    for _ in range(stage_length(0.05, 0.01, model.stage)):
        assert model.certificate is first
        model.learn_one({"a": False, "d": False}, True)
    assert model.certificate.stage == first.stage + 1


def test_a_coin_is_not_certified():
    rng = random.Random(2)
    model = OnlineToPAC(linear_model.LogisticRegression(), epsilon=0.2, delta=0.1)
    for _ in range(2000):
        model.learn_one({"a": rng.random()}, rng.random() < 0.5)
    assert not model.ready
    assert model.certificate is None


@pytest.mark.parametrize("cut", [3, 100, -1, None], ids=str)
def test_continues_from_a_checkpoint(cut, tmp_path):
    straight, stream = run_until_ready()
    halfway = OnlineToPAC(Elimination(), 0.05, 0.01)
    for x, y in stream[:cut]:
        halfway.learn_one(x, y)
    save(tmp_path / "checkpoints", halfway)
    resumed = load(tmp_path / "checkpoints")
    for x, y in stream[cut:] if cut is not None else []:
        resumed.learn_one(x, y)
    assert resumed.certificate.hypothesis.literals == straight.certificate.hypothesis.literals
    assert resumed.certificate.rows == straight.certificate.rows
    assert (resumed.stage, resumed.run, resumed.rows) == (straight.stage, straight.run, straight.rows)


def test_a_checkpoint_keeps_the_certified_hypothesis_apart_from_the_one_that_learns_on(tmp_path):
    model, _ = run_until_ready()
    certified = model.hypothesis.literals
    model.learn_one({"a": True, "d": True}, False)
    assert model.model.literals != certified
    save(tmp_path / "checkpoints", model)
    resumed = load(tmp_path / "checkpoints")
    assert resumed.certificate.hypothesis.literals == certified
    assert resumed.model.literals == model.model.literals


def test_counts_the_rows_that_are_left_without_a_mistake():
    model = OnlineToPAC(Elimination(), 0.05, 0.01)
    assert model.rows_to_go == stage_length(0.05, 0.01, 1)
    ready, stream = run_until_ready()
    assert ready.rows_to_go == 0
    left = 0
    for x, y in stream:
        left = model.rows_to_go
        model.learn_one(x, y)
    assert left == 1


@pytest.mark.parametrize("parameters", [{"epsilon": 0.0}, {"epsilon": 1.0}, {"delta": 0.0}, {"delta": 1.5}])
def test_refuses_rates_outside_the_unit_interval(parameters):
    (name, value) = next(iter(parameters.items()))
    with pytest.raises(ValueError, match=f"{name} must lie strictly between 0 and 1, got {value}"):
        OnlineToPAC(Elimination(), **{"epsilon": 0.1, "delta": 0.1, **parameters})
