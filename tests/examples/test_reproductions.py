"""The page of all results is what the results' pages make of it, and every script has its page and picture."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "reproductions"


@pytest.fixture(scope="module")
def reproduce():
    """Give `examples.reproduce.__main__` as a module."""
    sys.path.insert(0, str(ROOT))
    try:
        yield importlib.import_module("examples.reproduce.__main__")
    finally:
        sys.path.remove(str(ROOT))


def test_the_page_lists_what_there_is(reproduce):
    page = (ROOT / "docs" / "reproductions.md").read_text(encoding="utf-8")
    assert page == reproduce.collect(), "run python -m examples.reproduce --collect"
    assert page.count("](reproductions/") == len(list(PAGES.glob("*.md")))
    assert "## Others" not in page


def test_every_script_has_a_page_with_its_picture_and_table(reproduce):
    for script in reproduce.scripts():
        page = (PAGES / f"{script.stem}.md").read_text(encoding="utf-8")
        assert f"]({script.stem}.png)" in page
        assert "| | paper says | we measured |" in page
        assert (PAGES / f"{script.stem}.png").read_bytes().startswith(b"\x89PNG")


def test_a_page_without_a_finding_shows_the_first_row_of_its_table(reproduce, tmp_path):
    page = tmp_path / "focus_new.md"
    page.write_text(
        "# A title\n\n| | paper says | we measured |\n|---|---|---|\n| claim | at most 1 | 0.5 |\n| b | c | d |\n"
    )
    assert reproduce.entry(page) == "- [A title](reproductions/focus_new.md): claim: 0.5 (the paper: at most 1)."
    page.write_text(page.read_text().replace("title\n", "title\n\nIn short: half\n"))
    assert reproduce.entry(page) == "- [A title](reproductions/focus_new.md): half."
