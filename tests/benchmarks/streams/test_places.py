from __future__ import annotations

import pytest

from benchmarks.streams.places import mean_places, place, summed_up, worse_than_constant


def run(system, stream, seed=1, **figures):
    return {"system": system, "stream": stream, "seed": seed, "rows": 10, "version": "1", **figures}


def test_mean_and_spread_are_over_the_shuffles():
    summary = summed_up([run("a", "s", 1, error=0.1), run("a", "s", 2, error=0.3)])
    assert summary["s"]["a"]["error"] == {"mean": pytest.approx(0.2), "spread": pytest.approx(0.1)}
    assert summary["s"]["a"]["shuffles"] == 2


def test_a_system_that_failed_on_one_shuffle_has_failed_and_one_that_is_missing_is_not_there():
    runs = [run("a", "s", 1, error=0.1), run("a", "s", 2, failed="too slow"), run("b", "s", missing="no Java")]
    assert summed_up(runs) == {"s": {"a": {"failed": "too slow"}}}


def test_figures_of_the_rare_slice_have_a_name_of_their_own():
    slices = {"few": {"rows": 3, "error": 0.5, "recall at 1 %": 0.25}, "many": {"rows": 7, "error": 0.0}}
    found = summed_up([run("a", "s", error=0.1, rare="few", slices=slices)])["s"]["a"]
    assert found["rare recall at 1 %"]["mean"] == 0.25
    assert found["rare error"]["mean"] == 0.5


def test_equals_share_a_place_and_who_failed_shares_the_last():
    figures = {name: {"ap": {"mean": mean}} for name, mean in {"a": 0.9, "b": 0.5, "c": 0.5}.items()}
    figures |= {"d": {"failed": "too slow"}, "e": {"failed": "not finite"}}
    assert place(figures, "ap") == {"a": 1.0, "b": 2.5, "c": 2.5, "d": 4.5, "e": 4.5}
    assert place(figures, "log loss") == {}


def test_lower_is_better_of_losses():
    summary = summed_up([run("a", "s", mae=2.0), run("b", "s", mae=1.0), run("a", "t", mae=3.0)])
    assert mean_places(summary, "mae") == {"b": (1.0, 1), "a": (1.5, 2)}


def test_where_a_system_loses_to_a_constant_is_told():
    runs = [run("constant", stream, **{"log loss": 0.5, "ap": 0.2}) for stream in ("s", "t")]
    runs += [run("a", "s", **{"log loss": 0.6, "ap": 0.3}), run("a", "t", **{"log loss": 0.4, "ap": 0.1})]
    summary = summed_up(runs)
    assert worse_than_constant(summary, "a", "log loss") == ["s"]
    assert worse_than_constant(summary, "a", "ap") == ["t"]
