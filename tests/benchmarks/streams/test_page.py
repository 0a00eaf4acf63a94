from __future__ import annotations

import pytest

from benchmarks.machine import describe
from benchmarks.streams.page import write_page
from benchmarks.streams.places import summed_up

pytest.importorskip("matplotlib", reason="pictures come with the extra plot")


def run(system, stream, seed, **figures):
    cost = {"seconds": 1.0, "rows a second": 100.0, "bytes grown": 5e6}
    return {"system": system, "stream": stream, "seed": seed, "rows": 100, "version": "river 1.0", **cost, **figures}


def quality(loss):
    bins = [(50, 0.2, 0.25), (50, 0.8, 0.75)]
    slices = {
        "all": {"rows": 60, "recall at 0.1 %": 0.5, "recall at 1 %": 0.5},
        "few": {"rows": 7, "recall at 0.1 %": 0.0, "recall at 1 %": 0.25},
    }
    figures = {
        "error": loss / 2,
        "log loss": loss,
        "ap": 0.8,
        "recall at 0.1 %": 0.5,
        "recall at 1 %": 0.5,
        "ece": 0.05,
    }
    return {**figures, "reliability": bins, "slices": slices}


@pytest.fixture
def page(tmp_path):
    runs = [run("constant", "phishing", seed, **quality(0.6)) for seed in (1, 2)]
    runs += [run("River linear", "phishing", seed, **quality(0.2 * seed)) for seed in (1, 2)]
    runs += [run("River ARF10", "phishing", 1, failed="not done after 300 s of processor time")]
    runs += [run("constant", "flights", 1, mae=4.0, rmse=5.0), run("VW", "flights", 1, mae=5.0, rmse=6.0)]
    result = {"rows": 100, "shuffles": 2, "machine": describe(), "figures": summed_up(runs)}
    path = tmp_path / "streams.md"
    write_page(result, path)
    return path


def test_the_page_leads_with_places_and_reports_who_loses_to_a_constant(page):
    text = page.read_text(encoding="utf-8")
    assert text.index("## At a glance") < text.index("## Log loss")
    assert "| River linear | 1.00 (1) |" in text
    assert "| VW | 3.00 (1) |" not in text
    assert next(line for line in text.splitlines() if line.startswith("| VW |")).endswith("| flights |")


def test_figures_have_mean_and_spread_and_the_best_is_bold(page):
    text = page.read_text(encoding="utf-8")
    assert "**0.3000 ± 0.1**" in text
    assert "not done after 300 s of processor time" in text


def test_a_slice_is_shown_where_it_shows_more_than_all_positives(page):
    text = page.read_text(encoding="utf-8")
    assert "| phishing: few (7 rows) | **25.0 ± 0** |" in text
    assert "phishing: all" not in text


def test_both_pictures_are_drawn_and_shown(page):
    for name in ("streams-cost.png", "streams-reliability.png"):
        assert (page.parent / "images" / name).stat().st_size > 1000
        assert f"images/{name}" in page.read_text(encoding="utf-8")
