"""The figures of the README are those of the stored results: a claim that no result supports fails here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.focus_yardstick.page import ALIKE, EVEN, mean_of, runs_of
from benchmarks.streams.places import mean_places, worse_than_constant

PROJECT = Path(__file__).parents[2]
SECTION = "## Beside the systems people use today"


def results(name: str) -> Any:
    return json.loads((PROJECT / "benchmarks" / "results" / f"{name}.json").read_text("utf-8"))


def value(case: str, what: str) -> float:
    """Return what a case of the benchmarks came to."""
    found: list[float] = [claim["value"] for claim in results(case)["claims"] if claim["what"] == what]
    assert len(found) == 1, f"{case} must have one figure {what!r}, got {len(found)}"
    return found[0]


def streams() -> list[str]:
    figures = results("streams")["figures"]
    labelled = sum("log loss" in found["auto"] for found in figures.values())
    numbers = sum("mae" in found["auto"] for found in figures.values())
    places = {what: mean_places(figures, what) for what in ("log loss", "ap", "error", "mae")}
    for what, found in places.items():
        assert found["auto"][0] == min(mean for mean, _ in found.values()), f"auto must have the best place in {what}"
    for what in ("log loss", "error", "mae"):
        assert worse_than_constant(figures, "auto", what) == []
    first, ap, error, mae = (f"{found['auto'][0]:.2f}" for found in places.values())
    return [
        f"Over {len(figures)} streams",
        f"log loss ({first}), average precision ({ap}) and error ({error}) on the {labelled} with labels",
        f"absolute error ({mae}) on the {numbers} with numbers",
    ]


def gaps(learner: str, way: str, what: str, beside: str = EVEN) -> list[float]:
    """Return on each stream how much more a way finds than another does."""
    runs = runs_of(results("focus_yardstick")["figures"], learner).values()
    return [mean_of(found[way], what) - mean_of(found[beside], what) for found in runs if way in found]


def higher(found: list[float]) -> int:
    return sum(gap > ALIKE for gap in found)


def focus_inside_auto() -> list[str]:
    bare, even = (gaps("auto", "focus", "rare recall", beside) for beside in ("bare", EVEN))
    lower = sum(gap < -ALIKE for gap in even)
    return [
        f"than its bare experts on {higher(bare)} of {len(bare)} streams",
        f"more on {higher(even)} and fewer on {lower}, by {-100 * min(even):.1f} points at most",
    ]


def focus_around_others() -> list[str]:
    counts = {learner: gaps(learner, "capped", "recall at 1 %") for learner in ("leaves", "HingeOGD", "LLD")}
    leaves, hinge, lld = (f"{higher(found)} of {len(found)}" for found in counts.values())
    return [
        "at 1 % false alarms",
        f"on {leaves} streams over decision leaves and on {hinge} around `HingeOGD`, but only on {lld} around `LLD`",
    ]


def named_slices() -> list[str]:
    runs = runs_of(results("focus_yardstick")["figures"], "leaves")["nsl_kdd"]
    ours, even = (100 * mean_of(runs[way], "worst slice at 1 %") for way in ("slices", EVEN))
    assert mean_of(runs["slices"], "log loss") > mean_of(runs[EVEN], "log loss")
    return [
        "at 1 % false alarms on NSL-KDD",
        f"finds {ours:.0f} % of the attacks of the worst kind over decision leaves, uniform replay {even:.0f} %",
    ]


def one_dict() -> list[str]:
    ratios = [claim["value"] for claim in results("learn_one")["claims"]]
    return [f"{min(ratios):.1f} to {max(ratios):.1f} times as fast as River's `Perceptron`"]


def batches() -> list[str]:
    ratios = [value("hinge_batches", f"{n} features, batches of 16k, against scikit-learn") for n in (5, 20, 500)]
    five, twenty, many = (f"{ratio:.1f}" for ratio in ratios)
    return [
        f"{five}, {twenty} and {many} times as fast as scikit-learn's `SGDClassifier` at 5, 20 and 500 features",
    ]


def command() -> list[str]:
    ratio = value("command_line", "Arrow IPC against its cache, whole process")
    held = value("memory", "CSV, 2 GB: most memory held")
    assert results("command_line")["measured"]["ipc"]["label"] == "Arrow IPC, 5,000,000 rows"
    return [f"5 million rows from Arrow {ratio:.1f} times as fast", f"{held:.0f} MB of memory on a CSV of 2 GB"]


def most_streams() -> list[str]:
    runs = [found for found in results("streams")["figures"].values() if "log loss" in found["auto"]]
    return [f"Up to {len(runs)} streams for each system"]


def repeated_labels() -> list[str]:
    """What the page on focus has on electricity prices, in whole per cents."""
    page = (PROJECT / "docs" / "focus.md").read_text("utf-8").partition("\n## Where it hurts")[2]
    heads, row = re.findall(r"^\| (?:Elec2|Perceptron) \| (.*) \|$", page, re.MULTILINE)[:2]
    errors = dict(zip(heads.split(" | "), [float(cell.strip(" %")) for cell in row.split(" | ")], strict=True))
    bare, focused = errors["bare"], errors["10,000"]
    return [f"a bare `Perceptron` errs in {bare:.0f} % of the rows, a focused one in {focused:.0f} %"]


def oldest_python() -> list[str]:
    required = re.search(
        r'^requires-python = ">=([\d.]+)', (PROJECT / "pyproject.toml").read_text("utf-8"), re.MULTILINE
    )
    return [f"Python {required[1]} or later"] if required else []


CLAIMS: tuple[Callable[[], list[str]], ...] = (
    streams,
    focus_inside_auto,
    focus_around_others,
    named_slices,
    one_dict,
    batches,
    command,
)


# What is said elsewhere in the README.
OTHERS: tuple[Callable[[], list[str]], ...] = (most_streams, repeated_labels, oldest_python)


def section() -> str:
    text = (PROJECT / "README.md").read_text("utf-8")
    return text.partition(SECTION)[2].partition("\n## ")[0]


def prose(page: str) -> str:
    """Return the text of a page, a line of it all, without the blocks that other tests run and the targets of links."""
    text = re.sub(r"^```.*?^```$", "", (PROJECT / page).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return " ".join(re.sub(r"\]\([^)]*\)", "]", text).split())


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_a_claim_of_the_readme_is_what_was_measured(claim: Callable[[], list[str]]) -> None:
    for phrase in claim():
        assert phrase in section(), f"the stored results say: {phrase}"


@pytest.mark.parametrize("claim", OTHERS, ids=lambda claim: claim.__name__)
def test_a_figure_outside_of_the_comparison_is_true_too(claim: Callable[[], list[str]]) -> None:
    assert claim()
    for phrase in claim():
        assert phrase in prose("README.md"), f"what supports it says: {phrase}"


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/howto/index.md"])
def test_no_figure_is_claimed_that_no_result_supports(page: str) -> None:
    left = prose(page)
    for phrase in sorted((phrase for claim in CLAIMS + OTHERS for phrase in claim()), key=len, reverse=True):
        left = left.replace(phrase, "")
    left = re.sub(r"`[^`]*`|Elec2|http\S*", "", left)
    assert not re.findall(r"\d[\d,.]*", left), "each figure must stand in a phrase that is made from the results"


def test_every_page_and_section_that_supports_a_claim_exists() -> None:
    for page, anchor in re.findall(r"\]\((docs/[\w/]+\.md)#?([\w-]*)\)", (PROJECT / "README.md").read_text("utf-8")):
        headings = re.findall(r"^#+ (.+)$", (PROJECT / page).read_text("utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors, f"{page} must have a section {anchor!r}"
