"""How a CSV file is written: delimiter, quote, decimal comma and header, found from its first lines."""

from __future__ import annotations

import csv
import itertools
import re
from dataclasses import dataclass

from stream_maxloss_connectors.text.lines import BYTE_ORDER_MARK

__all__ = ["DELIMITERS", "Dialect", "find_dialect"]

DELIMITERS = (",", ";", "\t", "|")
"""Delimiters that are looked for, the most common first."""

SAMPLE_BYTES = 1 << 16
SAMPLE_RECORDS = 100
LEAST_SHARE = 0.8
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", "'": "single", '"': "double"}

DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
DECIMAL_POINT = re.compile(r"[+-]?\d+\.\d+")
NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written.

    Parameters
    ----------
    delimiter, quote, decimal_point
        As for `CsvDecoder`.
    has_header
        Whether the first line names the columns.

    """

    delimiter: str = ","
    quote: str | None = '"'
    decimal_point: str = "."
    has_header: bool = True

    def describe(self) -> str:
        """Return it in words."""
        parts = [f"delimiter {NAMES.get(self.delimiter, repr(self.delimiter))}"]
        parts.append(f"decimal {NAMES.get(self.decimal_point, 'point')}")
        parts.append(f"{NAMES.get(self.quote, repr(self.quote))} quotes" if self.quote else "no quotes")
        parts.append("a header" if self.has_header else "no header")
        return ", ".join(parts)


def find_dialect(
    block: bytes, delimiter: str | None = None, quote: str | None = '"', decimal_point: str | None = None
) -> Dialect:
    r"""Return how the start of a file is written; what is given is taken as it is.

    Parameters
    ----------
    block
        The start of a file, or all of it.
    delimiter, quote, decimal_point
        What is known; None to find delimiter and decimal point.

    Examples
    --------
    >>> from stream_maxloss_connectors.text.csv_dialect import find_dialect
    >>> find_dialect(b"price;shop\n1,5;north\n2,25;south\n").describe()
    'delimiter semicolon, decimal comma, double quotes, a header'
    >>> find_dialect(b"1,5\n2,6\n").has_header
    False

    """
    text = block[:SAMPLE_BYTES].removeprefix(BYTE_ORDER_MARK).decode(errors="replace")
    lines = text.splitlines(keepends=True)
    if len(block) > SAMPLE_BYTES and len(lines) > 1:
        lines.pop()  # it may be cut
    if quote == '"' and '"' not in text and single_quoted(lines, delimiter):
        quote = "'"
    if delimiter is None:
        delimiter = find_delimiter(lines, quote)
    records = split(lines, delimiter, quote)
    if decimal_point is None:
        cells = [cell.strip() for record in records[1:] for cell in record]
        has_commas = delimiter != "," and any(DECIMAL_COMMA.fullmatch(cell) for cell in cells)
        decimal_point = "," if has_commas and not any(DECIMAL_POINT.fullmatch(cell) for cell in cells) else "."
    return Dialect(delimiter, quote, decimal_point, has_header(records))


def find_delimiter(lines: list[str], quote: str | None) -> str:
    """Return the delimiter by which most records are as wide as the first; a comma unless another one is better."""
    shares = {candidate: share_alike(split(lines, candidate, quote)) for candidate in DELIMITERS}
    best = max(DELIMITERS, key=lambda candidate: shares[candidate])
    return best if shares[best] >= LEAST_SHARE else ","


def share_alike(records: list[list[str]]) -> float:
    """Return the share of records that are as wide as the first; 0 where that has one column."""
    if not records or len(records[0]) < 2:
        return 0.0
    return sum(len(record) == len(records[0]) for record in records) / len(records)


def single_quoted(lines: list[str], delimiter: str | None) -> bool:
    """Return whether most lines have a value in single quotes."""
    ends = f"[{re.escape(delimiter or ''.join(DELIMITERS))}]"
    pattern = re.compile(rf"(?:^|{ends})'[^']*'(?={ends}|\s*$)")
    found = sum(pattern.search(line) is not None for line in lines[1:SAMPLE_RECORDS])
    return 2 * found > len(lines[1:SAMPLE_RECORDS])


def split(lines: list[str], delimiter: str, quote: str | None) -> list[list[str]]:
    """Return the first records, without empty ones."""
    if quote is None:
        reader = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(lines, delimiter=delimiter, quotechar=quote)
    try:
        return [record for record in itertools.islice(reader, SAMPLE_RECORDS) if record]
    except csv.Error:
        return []


def has_header(records: list[list[str]]) -> bool:
    """Return whether the first record names the columns: it does unless it and the second have numbers only.

    Counted columns, 0, 1, 2, ... are a header, too: that is how frames without names are written.
    """
    if len(records) < 2 or not all(is_numeric(record) for record in records[:2]):
        return True
    first = [cell.strip() for cell in records[0]]
    return any(first == [str(place + start) for place in range(len(first))] for start in (0, 1)) and len(first) > 1


def is_numeric(record: list[str]) -> bool:
    """Return whether all cells are numbers."""
    return all(NUMBER.fullmatch(cell.strip()) for cell in record)
