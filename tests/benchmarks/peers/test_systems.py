"""Every system answers every kind of label that it takes, before it sees it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.peers import baselines, lightgbm_refits, ours, vowpal_models
from benchmarks.peers.matrix import coded
from benchmarks.peers.systems import SYSTEMS, find_system, version_of
from benchmarks.streams.catalogue import STREAMS, open_stream
from benchmarks.streams.stored import classes_of
from benchmarks.streams.stream import BINARY, CLASSES, NUMBER, Stream

ROWS = 300
OF_KIND = {BINARY: "flights_late", CLASSES: "image_segments", NUMBER: "flights"}
MODULES = {"vowpalwabbit": "bench", "lightgbm": "bench", "capymoa": "capymoa"}
TAKEN = [(name, kind) for name, system in SYSTEMS.items() for kind in system.kinds]


def need(name, kind=BINARY):
    library = SYSTEMS[name].library
    if library == "capymoa" and shutil.which("java") is None:
        pytest.skip("CapyMOA needs Java")
    if library in MODULES:
        pytest.importorskip(library, reason=f"{library} comes with the extra {MODULES[library]}")
    if name == "auto":
        mixture = pytest.importorskip("stream_maxloss.mixture", reason="this version has no auto")
        if kind == NUMBER and not hasattr(mixture, "AutoRegressor"):
            pytest.skip("this version has no auto for numbers")


@pytest.mark.parametrize(("name", "kind"), TAKEN)
def test_every_system_answers_each_row_before_its_label(name, kind):
    need(name, kind)
    # Boosting a hundred trees takes a tenth of a second a row.
    rows = 50 if name == "CapyMOA SGBT" else ROWS
    stream = open_stream(OF_KIND[kind], 1, rows)
    answers = SYSTEMS[name].prepare(name, stream)()
    assert answers.shape == ((rows, len(stream.classes)) if kind == CLASSES else (rows,))
    assert np.all(np.isfinite(answers))
    if kind != NUMBER:
        assert answers.min() >= 0.0
        assert answers.max() <= 1.0
    if kind == CLASSES:
        # Vowpal Wabbit writes six digits of each of seven classes.
        assert answers.sum(axis=1).max() <= 1.0 + 1e-5
    # What changes the last label changes no answer: not even that of the last row.
    labels = stream.labels.copy()
    others = [True, False] if kind == BINARY else stream.classes if kind == CLASSES else [77.0]
    labels[-1] = next(label for label in others if label != labels[-1])
    turned = SYSTEMS[name].prepare(name, replace(stream, labels=labels))()
    np.testing.assert_array_equal(answers, turned)


@pytest.fixture(scope="module")
def words():
    """Rows of a few words each, of which one tells the label."""
    generator = np.random.default_rng(5)
    labels = generator.random(ROWS) < 0.3
    rows = [
        [("win", 2.0)] * bool(label) + [(f"word{j}", 1.0) for j in sorted(set(generator.integers(0, 40, 5).tolist()))]
        for label in labels
    ]
    column = pa.array(rows, pa.map_(pa.string(), pa.float64()))
    return Stream(pa.table({"words": column}), labels, {"spam": labels}, "spam")


@pytest.mark.parametrize("name", [name for name, system in SYSTEMS.items() if system.takes(STREAMS["sms_spam"])])
def test_sparse_rows_are_taken_by_every_system_that_is_run_on_them(name, words):
    need(name)
    answers = SYSTEMS[name].prepare(name, words)()
    assert answers.shape == (ROWS,)
    if SYSTEMS[name].family != "baseline":
        # LightGBM knows nothing before its first fit, after 250 rows.
        assert np.mean((answers > 0.5)[250:] != words.labels[250:]) < 0.15


def test_trees_are_not_run_on_sparse_texts_and_nobody_on_labels_it_does_not_take():
    assert not SYSTEMS["River ARF10"].takes(STREAMS["rcv1_small"])
    assert not SYSTEMS["CapyMOA SRP10"].takes(STREAMS["friedman"])
    assert not SYSTEMS["LLD"].takes(STREAMS["covtype_7"])
    assert SYSTEMS["River linear"].takes(STREAMS["rcv1_small"])


class Native:
    """Answers batches with its classes in the order of first sight."""

    def __init__(self, **answers):
        self.answers = SimpleNamespace(**answers)

    def answer_learn_many(self, X, y):
        return self.answers


def test_answers_to_a_batch_are_laid_out_by_the_classes_of_the_stream():
    stream = classes_of(pa.table({"x": np.zeros(2)}), np.array(["c", "a"]))
    stream = replace(stream, labels=np.array(["c", "a", "b"]), table=pa.table({"x": np.zeros(3)}))
    shares = np.array([[0.0, 0.0], [1.0, 0.0], [0.75, 0.25]])
    model = Native(labels=np.array(["c", "c", "c"]), probabilities=shares, classes=("c", "a"))
    assert ours.answer(model, None, stream.labels, stream).tolist() == [[0, 0, 0], [0, 0, 1], [0.25, 0, 0.75]]


def test_answers_to_a_batch_are_probabilities_of_true_or_numbers():
    model = Native(labels=np.array([True, False]), probabilities=np.array([0.9, 0.2]), classes=None)
    stream = Stream(pa.table({"x": np.zeros(2)}), np.array([True, False]), {})
    assert ours.answer(model, None, stream.labels, stream).tolist() == [0.9, 0.2]
    model = Native(labels=np.array([3.0, 4.0]), probabilities=None, classes=None)
    stream = replace(stream, labels=np.array([1.0, 2.0]), kind=NUMBER)
    assert ours.answer(model, None, stream.labels, stream).tolist() == [3.0, 4.0]


def test_a_factory_is_a_system():
    stream = open_stream("phishing", 1, 100)
    name = "river.naive_bayes:GaussianNB"
    assert find_system(name).prepare(name, stream)().shape == (100,)
    name = "stream_maxloss.linear:Perceptron"
    assert find_system(name).prepare(name, stream)().shape == (100,)


def test_the_version_of_ours_follows_the_sources():
    assert version_of(SYSTEMS["LLD"]).startswith("stream-maxloss ")
    assert version_of(SYSTEMS["River ARF10"]).startswith("river 0.26")


def test_baselines_count_the_labels_before_each_row():
    stream = Stream(pa.table({"x": np.zeros(4)}), np.array([True, True, False, True]), {})
    assert baselines.prepare("constant", stream)().tolist() == pytest.approx([1 / 2, 2 / 3, 3 / 4, 3 / 5])
    # Repeats so far, of the labels that could repeat: 0 of 0, 1 of 1, 1 of 2; each with one of both added.
    assert baselines.prepare("last label", stream)().tolist() == pytest.approx([1 / 2, 1 / 2, 2 / 3, 1 - 2 / 4])


def test_baselines_of_classes_share_what_the_last_label_leaves():
    stream = classes_of(pa.table({"x": np.zeros(3)}), np.array(["a", "b", "c"]))
    answers = baselines.prepare("last label", stream)()
    assert answers.sum(axis=1).tolist() == pytest.approx([1.0, 1.0, 1.0])
    assert answers[1].tolist() == pytest.approx([0.5, 0.25, 0.25])


def test_baselines_of_numbers_are_the_mean_and_the_last():
    stream = Stream(pa.table({"x": np.zeros(3)}), np.array([2.0, 4.0, 9.0]), {}, kind=NUMBER)
    assert baselines.prepare("constant", stream)().tolist() == [0.0, 2.0, 3.0]
    assert baselines.prepare("last label", stream)().tolist() == [0.0, 2.0, 4.0]


def test_lightgbm_is_fitted_early_and_then_every_5000_rows():
    assert lightgbm_refits.refits(12_000) == [250, 500, 1000, 2000, 4000, 5000, 10_000]
    assert lightgbm_refits.refits(250) == []


def test_text_is_coded_and_kept_apart_from_numbers():
    stream = Stream(
        pa.table({"size": [1.5, 0.0, 2.0], "kind": ["udp", "tcp", "udp"]}), np.array([True, False, True]), {}
    )
    X, texts = coded(stream)
    assert X.tolist() == [[1.5, 1.0], [0.0, 0.0], [2.0, 1.0]]
    assert texts == {1: ["tcp", "udp"]}


def test_vowpal_wabbit_reads_names_without_its_own_signs_and_classes_from_one():
    assert vowpal_models.line("1", {"a:b": 2.0, "c d": "x|y", "zero": 0.0}) == "1 | a_b:2 c_d=x_y\n"
    stream = classes_of(pa.table({"x": np.zeros(3)}), np.array(["a", "c", "b"]))
    assert vowpal_models.labels_of(stream) == ["1", "3", "2"]
    assert vowpal_models.answers_of("1:0.5 2:0.25 3:0.25\n", stream).tolist() == [[0.5, 0.25, 0.25]]
