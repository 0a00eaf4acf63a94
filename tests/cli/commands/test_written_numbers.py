"""A target whose numbers come as people write them: with a currency, thousands apart, a decimal comma."""

from __future__ import annotations

import json

import pytest

STYLES = {
    "dollars": lambda value: f'"${value:,.2f}"',
    "decimal comma": lambda value: '"' + f"{value:,.2f} €".translate(str.maketrans(",.", ".,")) + '"',
    "per cent": lambda value: f"{value:.2f}%",
}


def write(path, style, odd=None) -> list[float]:
    values = [1200.0 + 10.5 * ((i * 7) % 50) for i in range(400)]
    cells = [style(value) for value in values]
    for row, text in (odd or {}).items():
        cells[row] = text
    path.write_text("a,price\n" + "".join(f"{(i * 7) % 50},{cell}\n" for i, cell in enumerate(cells)))
    return values


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_it_is_learned_as_a_number(maxloss, tmp_path, style) -> None:
    values = write(tmp_path / "sales.csv", style)
    words = ["--target", "price", "-p", "out.jsonl", "-c", "state", "-o", "jsonl"]
    assert maxloss("tail", "sales.csv", *words, "--limit", "150").code == 0
    end = maxloss("tail", "sales.csv", *words)
    assert end.code == 0, end.err
    assert json.loads(end.out.splitlines()[-1])["metric"].keys() == {"MAE"}
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["label"] for row in rows] == pytest.approx(values)


def test_a_cell_that_is_none_is_a_bad_record_and_one_that_is_missing_is_not_learned(maxloss, tmp_path) -> None:
    write(tmp_path / "sales.csv", STYLES["dollars"], {300: "n/a", 350: "soon"})
    end = maxloss("tail", "sales.csv", "--target", "price", "--on-bad", "skip", "-o", "jsonl")
    last = json.loads(end.out.splitlines()[-1])
    assert (last["rows"], last["learned"], last["bad"]) == (399, 398, 1), end.err
    assert "1 of 399 rows had no 'price'" in end.err
    refused = maxloss("tail", "sales.csv", "--target", "price")
    assert refused.code == 3
    assert "sales.csv:352: target 'price' must be a number, got 'soon'; repair the row" in refused.err
