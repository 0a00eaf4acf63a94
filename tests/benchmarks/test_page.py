from __future__ import annotations

import json
import sys
import types

import pytest

from benchmarks import __main__, page, warm
from benchmarks.point import Point, claim
from benchmarks.quality import ours

MACHINE = {
    "processor": "abacus",
    "cores": 2,
    "memory_gib": 1.0,
    "load": [0.5, 0.5, 0.5],
    "system": "Linux",
    "python": "3.11",
    "versions": {"river": "1"},
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write the page of one case that nothing knows but its own module."""

    def write(claims, **parts):
        case = types.SimpleNamespace(TITLE="Beads, counted", INCLUDED="Everything.", **parts)
        monkeypatch.setitem(sys.modules, "benchmarks.cases.beads", case)
        monkeypatch.setattr(page, "NAMES", ("beads",))
        result = {"case": "beads", "quick": False, "machine": MACHINE, "seconds": 1.0}
        measured = {"one": {"label": "one", "facts": {"ours": {"count": 3}}}}
        (tmp_path / "beads.json").write_text(json.dumps({**result, "claims": claims, "measured": measured}))
        page.write_page(tmp_path, tmp_path / "page.md")
        return (tmp_path / "page.md").read_text()

    return write


def test_a_case_brings_its_own_tables_texts_and_plots(write):
    def plot(measured, folder):
        (folder / "beads.png").write_bytes(b"")
        return [("Beads", "beads.png")]

    text = write(
        [],
        tables=lambda measured: ["### By colour", (["count"], [[str(measured["one"]["facts"]["ours"]["count"])]])],
        plot=plot,
    )
    assert "### By colour\n\n| count |\n|---|\n| 3 |\n" in text
    assert "![Beads](images/beads.png)" in text


def test_every_target_is_listed_with_verdict_and_command(write):
    text = write([claim("one", "beads a second", 2.0, suffix="/s", target=3.0), claim("one", "untold", 1.0)])
    targets = text[text.index("## Targets") : text.index("## Machine")]
    assert "0 of 1 reached" in targets
    command = "`python -m benchmarks --only beads:one`"
    assert f"| beads | beads a second | **2/s** | at least 3/s | **falls short** | {command} |" in targets
    assert "untold" not in targets
    assert "untold" in text


def test_the_page_leads_with_a_line_for_each_case(write):
    claims = [
        claim("one", "red, against abacus", 2.0, target=3.0),
        claim("two", "blue, against abacus", 4.0, target=3.0),
    ]
    text = write(claims)
    top = text[: text.index("## Beads, counted")]
    assert "| [Beads, counted](#beads-counted) | abacus 2x to 4x | 1 of 2 |" in top
    assert "beads a second: 2/s" in write([claim("one", "beads a second", 2.0, suffix="/s", target=3.0)])


def test_the_page_says_which_cases_are_of_another_version():
    old, new = ({"machine": {"versions": {"stream-maxloss": version}}} for version in ("0.1.0", "0.2.0"))
    assert page.versions({"beads": new, "pearls": new}) == ""
    assert "0.1.0: `beads`; 0.2.0: `pearls`, `shells`." in page.versions({"beads": old, "pearls": new, "shells": new})


def test_sections_are_linked_by_their_headings(write):
    assert "[Beads, counted](#beads-counted)" in write([])


def test_the_time_of_each_case_and_of_all_stands_at_the_end(write):
    assert "All cases took 1 s: beads 1 s." in write([])
    assert [page.in_minutes(seconds) for seconds in (0.4, 59.6, 754.0)] == ["0 s", "1 min 0 s", "12 min 34 s"]


def test_a_run_says_how_long_each_case_took_and_saves_whole_ones(tmp_path, monkeypatch, capsys):
    case = types.SimpleNamespace(points=lambda quick: [], conclude=lambda measured: [])
    monkeypatch.setitem(sys.modules, "benchmarks.cases.beads", case)
    monkeypatch.setattr(__main__, "warm_up", lambda: None)
    __main__.measure({"beads": set()}, quick=True, results=tmp_path)
    assert json.loads((tmp_path / "beads.json").read_text())["seconds"] < 60.0
    told = capsys.readouterr().out
    assert "beads took " in told
    assert "all cases took " in told


def test_what_is_compiled_beforehand_are_the_learners_of_the_comparison():
    assert {name.removesuffix(ours.FOCUSED) for name in ours.OURS} == set(warm.LEARNERS)


def test_only_takes_one_system_of_a_point_that_notes_facts():
    points = [Point("a", "a", ("x", "y"), kind="fact"), Point("b", "b", ("x", "y"))]
    narrowed, wanted = __main__.narrowed("beads", points, {"a:y"})
    assert [point.systems for point in narrowed] == [("y",), ("x", "y")]
    assert wanted == {"a"}


def test_two_systems_of_a_point_are_both_run_and_a_whole_point_stays_whole():
    points = [Point("a", "a", ("x", "y", "z"), kind="fact")]
    assert __main__.narrowed("beads", points, {"a:z", "a:x"})[0][0].systems == ("x", "z")
    assert __main__.narrowed("beads", points, {"a:z", "a"})[0][0].systems == ("x", "y", "z")


@pytest.mark.parametrize(
    ("wanted", "words"), [("c", "name a point"), ("a:z", "name a system"), ("b:x", "timed in turns")]
)
def test_only_says_what_there_is(wanted, words):
    points = [Point("a", "a", ("x", "y"), kind="fact"), Point("b", "b", ("x", "y"))]
    with pytest.raises(SystemExit, match=words):
        __main__.narrowed("beads", points, {wanted})
