"""Tables in plain text, with a fixed width and no colour."""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["format_bytes", "format_table", "shorten"]


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Return rows of texts under a header, the columns in `left` aligned to the left, others to the right.

    Examples
    --------
    >>> from stream_maxloss.cli.reports.text_table import format_table
    >>> print(format_table(["slice", "rows"], [["normal", "950"], ["scan", "50"]]))
    slice   rows
    normal   950
    scan      50

    """
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    texts = []
    for line in lines:
        cells = [
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        texts.append("  ".join(cells).rstrip())
    return "\n".join(texts)


def shorten(text: str, width: int) -> str:
    """Return a text of at most `width` characters on one line, with dots where something was cut.

    Examples
    --------
    >>> from stream_maxloss.cli.reports.text_table import shorten
    >>> shorten("connections", 8)
    'connect…'

    """
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def format_bytes(count: float) -> str:
    """Return a size with the unit that suits it.

    Examples
    --------
    >>> from stream_maxloss.cli.reports.text_table import format_bytes
    >>> format_bytes(512), format_bytes(1_572_864)
    ('512 B', '1.5 MiB')

    """
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
