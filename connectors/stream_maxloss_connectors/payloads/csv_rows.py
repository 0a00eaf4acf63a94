"""One line of CSV per message."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from stream_maxloss_connectors.formats import CSV_NULLS
from stream_maxloss_connectors.payloads.base import Decoded, Decoder
from stream_maxloss_connectors.payloads.columns import build_records

__all__ = ["CsvDecoder"]

_NULLS = frozenset(CSV_NULLS)
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


class CsvDecoder(Decoder):
    """Reads messages that are one CSV record each, without a header.

    A column is boolean or numeric (float64) if its first value is, else text. A cell of numbers or booleans that
    is empty or one of `CSV_NULLS` is null. Line breaks are allowed at the end and between quotes.

    Parameters
    ----------
    column_names
        Names of the cells, in order.
    schema
        The columns with their types, instead of names.
    delimiter
        Character between cells.

    Examples
    --------
    >>> from stream_maxloss_connectors.payloads.csv_rows import CsvDecoder
    >>> decoded = CsvDecoder(["price", "shop"]).decode([b"1.5,north", b"2"], 10)
    >>> decoded.records.to_pylist(), decoded.bad
    ([{'price': 1.5, 'shop': 'north'}], {1: 'a line must have 2 cells, got 1'})

    """

    def __init__(
        self, column_names: Sequence[str] | None = None, schema: pa.Schema | None = None, delimiter: str = ","
    ) -> None:
        if column_names is None and schema is None:
            raise ValueError("column_names must be given for CSV messages, got None; they carry no header")
        super().__init__(schema)
        self.column_names: list[str] = list(column_names or (schema.names if schema is not None else ()))
        if schema is not None and not set(schema.names) <= set(self.column_names):
            raise ValueError(f"schema must name columns among {self.column_names}, got {schema.names}")
        self.delimiter = delimiter

    def infer(self, payloads: Sequence[bytes]) -> None:
        """Fix the types from the first value of each column."""
        if self.schema is None:
            lines, _ = self._split(payloads)
            columns = list(zip(*lines, strict=True))
            if columns:
                fields = [(name, _first_type(cells)) for name, cells in zip(self.column_names, columns, strict=True)]
                self.schema = pa.schema(fields)

    def decode(self, payloads: Sequence[bytes], max_rows: int) -> Decoded:
        """Decode up to `max_rows` messages."""
        payloads = payloads[:max_rows]
        self.infer(payloads)
        lines, bad = self._split(payloads)
        if self.schema is None:
            return Decoded(None, len(payloads), bad)
        kept = [i for i in range(len(payloads)) if i not in bad]
        places = {name: place for place, name in enumerate(self.column_names)}
        cells = {field.name: (places[field.name], _reader(field.type)) for field in self.schema}
        rows = [{name: read(line[place]) for name, (place, read) in cells.items()} for line in lines]
        records, misfits = build_records(rows, self.schema)
        bad.update((kept[row], reason) for row, reason in misfits.items())
        return Decoded(records, len(payloads), dict(sorted(bad.items())))

    def _split(self, payloads: Sequence[bytes]) -> tuple[list[list[str]], dict[int, str]]:
        lines = []
        bad = {}
        for i, payload in enumerate(payloads):
            try:
                lines.append(self._cells(payload))
            except (csv.Error, UnicodeDecodeError, ValueError) as error:
                bad[i] = str(error)
        return lines, bad

    def _cells(self, payload: bytes) -> list[str]:
        text = payload.decode("utf-8").removesuffix("\n").removesuffix("\r")
        if "\0" in text:
            raise ValueError("a line must be text, got a NUL")
        # Untranslated line ends let the reader keep those between quotes, and split at no other character.
        records = list(csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter, strict=True))
        if len(records) != 1:
            raise ValueError(f"a message must be one line of CSV, got {len(records)}")
        if len(records[0]) != len(self.column_names):
            raise ValueError(f"a line must have {len(self.column_names)} cells, got {len(records[0])}")
        return records[0]


def _first_type(cells: Sequence[str]) -> pa.DataType:
    first = next((cell for cell in cells if cell not in _NULLS), None)
    if first is None or isinstance(_number(first), float):
        return pa.float64()
    return pa.bool_() if first in _BOOLEANS else pa.string()


def _reader(type_: pa.DataType) -> Callable[[str], Any]:
    if pa.types.is_floating(type_):
        return _number
    if pa.types.is_integer(type_):
        return _whole_number
    if pa.types.is_boolean(type_):
        return lambda cell: None if cell in _NULLS else _BOOLEANS.get(cell, cell)
    return str


def _number(cell: str) -> float | str | None:
    """Read a number; a cell that is none comes back as it is, for the types to be checked later."""
    if cell in _NULLS:
        return None
    try:
        # Python's underscores between digits are no number anywhere else.
        return float(cell) if "_" not in cell else cell
    except ValueError:
        return cell


def _whole_number(cell: str) -> int | str | None:
    if cell in _NULLS:
        return None
    try:
        return int(cell) if "_" not in cell else cell
    except ValueError:
        return cell
