from __future__ import annotations

from stream_maxloss.cli.reports.text_table import format_bytes, format_table, shorten


def test_a_table_without_rows_is_its_header():
    assert format_table(["a", "b"], []) == "a  b"


def test_columns_are_aligned_and_no_line_ends_in_blanks():
    text = format_table(["name", "n", "note"], [["x", "1,000", "long note"], ["yy", "2", ""]], left=(0, 2))
    assert text.split("\n") == ["name      n  note", "x     1,000  long note", "yy        2"]


def test_a_short_text_is_not_cut_and_line_breaks_are_blanks():
    assert shorten("a\nb", 3) == "a b"
    assert shorten("abcd", 3) == "ab…"


def test_sizes_have_the_unit_that_suits_them():
    assert [format_bytes(n) for n in (0, 1023, 1024, 5 << 30)] == ["0 B", "1023 B", "1.0 KiB", "5.0 GiB"]
