from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import datasets, linear_model, metrics, utils

import stream_maxloss.metrics as ours
from stream_maxloss.metrics import MaxLoss, SliceReport

slice_values = st.one_of(st.sampled_from(["a", "b", "c", "d"]), st.integers(0, 3), st.none(), st.just(float("nan")))
streams = st.lists(st.tuples(slice_values, st.booleans(), st.floats(0.0, 1.0)), min_size=1, max_size=60)


def fed_by_rows(report: SliceReport, rows: list[tuple[Any, bool, float]]) -> SliceReport:
    for value, y, p in rows:
        report.update(value, y, {False: 1.0 - p, True: p})
    return report


def columns(rows: list[tuple[Any, bool, float]]) -> tuple[list[Any], Any, Any, Any]:
    values, y, p = zip(*rows, strict=True)
    return list(values), np.array(y), None, np.array(p)


def assert_same(left: Any, right: Any) -> None:
    assert list(left["slices"]) == list(right["slices"])
    for name, scores in left["slices"].items():
        assert scores == pytest.approx(right["slices"][name], rel=1e-9)
    assert left["overall"] == pytest.approx(right["overall"], rel=1e-9)


@given(rows=streams, cut=st.integers(0, 60), max_slices=st.integers(1, 8))
@settings(deadline=None, max_examples=80)
def test_batches_give_the_report_of_the_rows(rows: list[Any], cut: int, max_slices: int) -> None:
    def report() -> SliceReport:
        return SliceReport(
            metrics.Accuracy() + metrics.LogLoss() + ours.RollingMaxLoss(4), "kind", max_slices, min_support=2
        )

    one, many = fed_by_rows(report(), rows), report()
    for part in (rows[:cut], rows[cut:]):
        if part:
            many.update_many(*columns(part))
    assert_same(many.get(), one.get())
    assert sum(scores["rows"] for scores in many.get()["slices"].values()) == len(rows)
    assert len(many.get()["slices"]) <= max_slices + 1


@pytest.mark.parametrize(
    "values",
    [
        np.array([3, 1, 3, 2]),
        np.array(["x", "y", "x", "z"]),
        np.array([1.5, np.nan, np.nan, 2.0]),
        np.array([True] * 4),
    ],
    ids=["int", "text", "float", "bool"],
)
def test_typed_columns_name_their_slices_as_rows_do(values: Any) -> None:
    y = np.array([True, False, True, True])
    one, many = SliceReport(metrics.Accuracy(), "c"), SliceReport(metrics.Accuracy(), "c")
    many.update_many(values, y, y)
    for value, label in zip(values, y, strict=True):
        one.update(value, label, label)
    assert_same(many.get(), one.get())


def test_the_worst_slice_has_enough_rows() -> None:
    report = SliceReport(metrics.Accuracy(), "kind", min_support=10)
    for name, n_right, n_wrong in (("small", 0, 9), ("good", 30, 1), ("bad", 10, 10)):
        for right in [True] * n_right + [False] * n_wrong:
            report.update(name, True, right)
    assert report.worst() == "bad"
    assert report.get()["worst"] == "bad"
    assert "bad <- worst" in str(report)
    assert report.get()["slices"]["small"] == {"rows": 9, "Accuracy": 0.0}


def test_a_loss_is_worst_where_it_is_greatest() -> None:
    report = SliceReport([metrics.Accuracy(), MaxLoss()], "kind", min_support=1, worst_by="MaxLoss")
    report.update("sure", False, {False: 0.05, True: 0.95})
    report.update("sure", True, {False: 0.05, True: 0.95})
    report.update("unsure", False, {False: 0.4, True: 0.6})
    assert report.worst() == "sure"
    assert SliceReport(metrics.Accuracy(), "kind").worst() is None


def test_values_past_the_limit_share_a_slice_that_is_never_the_worst() -> None:
    report = SliceReport(metrics.Accuracy(), "id", max_slices=2, min_support=1)
    report.update_many(np.arange(50), np.ones(50, dtype=bool), np.arange(50) < 2)
    assert list(report.get()["slices"]) == ["0", "1", "(other)"]
    assert report.get()["slices"]["(other)"] == {"rows": 48, "Accuracy": 0.0}
    assert report.worst() == "0"


def test_the_column_is_read_from_the_row() -> None:
    report = SliceReport(metrics.Accuracy(), by="country")
    report.update({"country": "is", "age": 3}, True, True)
    report.update({"age": 3}, True, True)
    report.update({"country": None}, True, True)
    assert {name: s["rows"] for name, s in report.get()["slices"].items()} == {"is": 1, "(missing)": 2}


def test_metrics_that_were_used_before_start_afresh_and_stay_apart() -> None:
    used = metrics.Accuracy()
    used.update(True, False)
    rolling = utils.Rolling(metrics.Accuracy, window_size=2)
    rolling.update(True, False)
    report = SliceReport([used, rolling], "kind")
    for right in (False, True, True):
        report.update("a", True, right)
    report.update("b", True, True)
    assert report.get()["slices"]["a"] == {"rows": 3, "Accuracy": pytest.approx(2 / 3), "RollingAccuracy": 1.0}
    assert report.get()["slices"]["b"]["Accuracy"] == 1.0
    assert used.get() == 0.0


def test_overall_scores_are_those_of_river_alone() -> None:
    model, metric = linear_model.LogisticRegression(), metrics.Accuracy() + metrics.LogLoss()
    report = SliceReport(metric, by="https")
    for x, y in datasets.Phishing().take(300):
        prediction = model.predict_proba_one(x)
        metric.update(y, prediction)
        report.update(x, y, prediction)
        model.learn_one(x, y)
    assert report.get()["overall"] == {"rows": 300, "Accuracy": metric[0].get(), "LogLoss": metric[1].get()}


def test_weights_reach_the_metrics_that_take_them() -> None:
    one, many = (SliceReport(metrics.Accuracy() + metrics.RollingROCAUC(), "k") for _ in range(2))
    y, p, w = np.array([True, False, True]), np.array([0.9, 0.8, 0.7]), np.array([3.0, 1.0, 2.0])
    many.update_many(["a", "a", "b"], y, None, p, w)
    for value, label, proba, weight in zip("aab", y.tolist(), p.tolist(), w.tolist(), strict=True):
        one.update(value, label, {False: 1 - proba, True: proba}, weight)
    assert many.get()["slices"]["a"]["Accuracy"] == one.get()["slices"]["a"]["Accuracy"] == 0.75


@given(rows=streams, cut=st.integers(0, 60))
@settings(deadline=None, max_examples=30)
def test_a_restored_report_continues_like_the_original(rows: list[Any], cut: int) -> None:
    def report() -> SliceReport:
        return SliceReport(metrics.F1() + ours.TailLoss(0.2, bins=16), "kind", max_slices=3, min_support=1)

    straight, first = fed_by_rows(report(), rows), fed_by_rows(report(), rows[:cut])
    second = fed_by_rows(report(), [("old", True, 0.1)])
    second.load_state_dict(first.state_dict())
    fed_by_rows(second, rows[cut:])
    assert second.get() == straight.get()


def test_the_report_is_plain_json_and_prints_every_slice() -> None:
    report = fed_by_rows(SliceReport(metrics.Accuracy() + MaxLoss(), "kind"), [("a", True, 0.9), (None, False, 0.9)])
    assert json.loads(json.dumps(report.get())) == report.get()
    lines = str(report).splitlines()
    assert len(lines) == 4
    assert lines[0].split() == ["kind", "Rows", "Accuracy", "MaxLoss"]
    assert lines[-1].split()[:2] == ["(all)", "2"]
    assert repr(report) == "SliceReport(by='kind', metrics=['Accuracy', 'MaxLoss'], slices=2)"


def test_two_metrics_of_a_kind_get_names_of_their_own() -> None:
    report = SliceReport([ours.TailLoss(0.1), ours.TailLoss(0.5), ours.TailLoss(0.9)], "kind")
    assert list(report.get()["overall"]) == ["rows", "TailLoss", "TailLoss 2", "TailLoss 3"]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"metrics": []}, "metrics must hold at least one metric"),
        ({"metrics": metrics.ConfusionMatrix()}, "metrics must yield one number each, got ConfusionMatrix"),
        ({"metrics": ours.MarginDistribution()}, "metrics must yield one number each, got MarginDistribution"),
        ({"max_slices": 0}, "max_slices must be a whole number of at least 1, got 0"),
        ({"min_support": 1.5}, "min_support must be a whole number of at least 1, got 1.5"),
        ({"worst_by": "F1"}, r"worst_by must be one of \['Accuracy'\], got 'F1'"),
    ],
    ids=["none", "matrix", "summary", "slices", "support", "worst-by"],
)
def test_bad_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SliceReport(**{"metrics": metrics.Accuracy(), "by": "kind", **params})


def test_a_bad_batch_leaves_the_report_as_it_was() -> None:
    report = fed_by_rows(SliceReport(metrics.Accuracy() + metrics.LogLoss(), "kind"), [("a", True, 0.9)])
    before = report.get()
    with pytest.raises(ValueError, match="proba_true must be given"):
        report.update_many(["a", "b"], np.array([True, True]), np.array([True, True]))
    with pytest.raises(ValueError, match=r"slice_values must have one value per row \(2\), got 1"):
        report.update_many(["a"], np.array([True, True]), None, np.array([0.5, 0.5]))
    assert report.get() == before


def test_an_empty_batch_changes_nothing() -> None:
    report = fed_by_rows(SliceReport(metrics.Accuracy(), "kind"), [("a", True, 0.9)])
    before = report.get()
    report.update_many([], np.zeros(0, dtype=bool), np.zeros(0, dtype=bool))
    assert report.get() == before


def test_labels_are_read_from_probabilities_where_none_are_given() -> None:
    report = SliceReport(metrics.Accuracy(), "kind")
    report.update_many(["a", "a"], np.array([True, False]), None, np.array([0.9, 0.5]))
    assert report.get()["slices"]["a"]["Accuracy"] == 1.0
