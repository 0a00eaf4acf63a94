"""Facts come from processes of their own."""

from __future__ import annotations

import os

import pytest

from benchmarks.data_sets import ABSENT
from benchmarks.measure import ONE_THREAD, observe, one_thread
from benchmarks.point import Point


def test_a_fact_is_observed_in_another_process_with_one_thread(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    point = Point("beads", "beads", ("Perceptron", "Winnow"), {"stream": "phishing", "rows": 60}, kind="fact")
    with pytest.raises(ValueError, match="a system must be one of"):
        observe("quality", point)
    assert "OMP_NUM_THREADS" not in os.environ


def test_a_fact_is_observed_in_the_environment_of_now_not_of_the_first_one(monkeypatch, tmp_path):
    first = Point("phishing", "phishing", ("Perceptron",), {"stream": "phishing", "rows": 60}, kind="fact")
    assert observe("quality", first)["Perceptron"]["rows"] == 60
    monkeypatch.setenv("STREAM_MAXLOSS_DATA", str(tmp_path))
    second = Point("nsl_kdd", "nsl_kdd", ("bare",), {"stream": "nsl_kdd", "seeds": 1}, kind="fact")
    assert observe("rare_slices", second) == {"bare": {"missing": ABSENT}}


def test_a_peer_that_is_not_installed_is_missing():
    point = Point("json", "json", ("ours",), {"name": "no_such_module"}, kind="fact")
    assert observe("absent_peer", point) == {"ours": {"missing": "No module named 'benchmarks.cases.absent_peer'"}}


def test_settings_of_the_environment_are_taken_back(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    with one_thread():
        assert os.environ["OMP_NUM_THREADS"] == ONE_THREAD["OMP_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "7"
