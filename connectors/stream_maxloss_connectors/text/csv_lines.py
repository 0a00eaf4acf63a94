"""CSV records: one per line, or over several where a quoted value holds line ends."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.formats import CSV_NULLS
from stream_maxloss_connectors.schemas import describe_type, empty_batch, widen
from stream_maxloss_connectors.text.csv_dialect import Dialect, find_dialect
from stream_maxloss_connectors.text.csv_framing import CsvFraming
from stream_maxloss_connectors.text.lines import BYTE_ORDER_MARK, MAX_RECORD_BYTES, Frames, LineDecoder, shorten

__all__ = ["CsvDecoder"]

# Of the list what can stand in a text without the letter: a value is compared with all that are on the list, an
# eighth of the parser's time.
_NULLS_WITHOUT_N = [text for text in CSV_NULLS if "n" not in text.lower()]

SEPARATOR_LINE = re.compile(rb'"?sep=([\x01-\x09\x0b\x0c\x0e-\x7f])"?\r?\n')
"""The line by which Excel is told the delimiter."""


class CsvDecoder(LineDecoder):
    r"""Decodes CSV and TSV.

    A quote opens a quoted value only where a value starts, as in pyarrow's parser; inside, a doubled quote stands for
    one and line ends belong to the value. A quote that is still open `max_record_bytes` later, or at the end, is a
    slip of the pen: its line alone is bad, and reading goes on with the next.

    Parameters
    ----------
    delimiter
        One character between values; None to find it from the first lines: comma, semicolon, tab or pipe.
    header
        Names of the columns, for text without a header line. None: the first line of a file names them. Where the
        delimiter is to be found and the first lines have numbers only, they are `column1`, `column2`, ...
    quote
        The quoting character, or None if quotes mean nothing.
    null_values
        Texts that mean "missing" in columns that are not text. None: `CSV_NULLS` (empty, `NA`, `NaN`, `null`, ...).
    decimal_point
        What stands before the decimals; None to find it, too.
    max_record_bytes
        Longer records are bad.
    types
        Types of some columns, that are then not inferred.

    Examples
    --------
    >>> from stream_maxloss_connectors.text.csv_lines import CsvDecoder
    >>> decoder, start = CsvDecoder().begin(b"amount,kind\n3,card\nx,cash\n")
    >>> schema = decoder.infer(b"3,card\n")
    >>> block = decoder.decode(b"3,card\nx,cash\n", schema, 2, "day.csv:{}".format)
    >>> block.records.to_pydict()
    {'amount': [3.0], 'kind': ['card']}
    >>> print(block.faults[0].error)
    day.csv:3: column 'amount' must be a number, got 'x'

    """

    def __init__(
        self,
        delimiter: str | None = ",",
        header: Sequence[str] | None = None,
        quote: str | None = '"',
        null_values: Sequence[str] | None = None,
        decimal_point: str | None = ".",
        max_record_bytes: int = MAX_RECORD_BYTES,
        types: Mapping[str, pa.DataType] | None = None,
    ) -> None:
        for name, value in (("delimiter", delimiter), ("quote", quote), ("decimal_point", decimal_point)):
            if value is not None and (len(value) != 1 or not value.isascii() or value in "\r\n"):
                raise ValueError(f"{name} must be one ASCII character and no line end, got {value!r}")
        self.delimiter = delimiter
        self.header = None if header is None else list(header)
        self.quote = quote
        self.null_values = None if null_values is None else list(null_values)
        self.decimal_point = decimal_point
        self.max_record_bytes = max_record_bytes
        self.types = dict(types or {})
        self.dialect: Dialect | None = None  # what was found
        self._framing = CsvFraming(delimiter or ",", quote, max_record_bytes)

    def begin(self, block: bytes) -> tuple[LineDecoder, int]:
        """Take the names of the columns from the first line, unless they were given."""
        start = len(BYTE_ORDER_MARK) if block.startswith(BYTE_ORDER_MARK) else 0
        named = SEPARATOR_LINE.match(block, start)
        if named is not None and self.delimiter is None:
            found = find_dialect(block[named.end() :], named[1].decode(), self.quote, self.decimal_point)
            decoder, stop = self.with_dialect(found).begin(block[named.end() :])
            return decoder, named.end() + stop
        if self.delimiter is None or self.decimal_point is None:
            found = find_dialect(block, self.delimiter, self.quote, self.decimal_point)
            known = self.with_dialect(found)
            if self.header is None and self.delimiter is None and not found.has_header:
                return known.with_header(known.count_columns(block[start:])), start
            return known.begin(block)
        if self.header is not None:
            return self, start
        ends, _ = self._framing.ends(block, start)
        stop = int(ends[0]) if len(ends) else len(block)
        try:
            line = block[start:stop].decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise SourceError(
                f"the header must be UTF-8, got {block[start:stop][:80]!r}; convert the "
                "file: iconv -f WINDOWS-1252 -t UTF-8, or from whatever it was written in"
            ) from error
        return self.with_header(self._split(line)), stop

    def with_dialect(self, dialect: Dialect) -> CsvDecoder:
        """Return a decoder that knows how the file is written."""
        known = CsvDecoder(
            dialect.delimiter,
            self.header,
            dialect.quote,
            self.null_values,
            dialect.decimal_point,
            self.max_record_bytes,
            self.types,
        )
        known.dialect = dialect
        return known

    def resumed(self, position: Mapping[str, Any]) -> CsvDecoder:
        """Return a decoder that goes on in a file whose `position` it is: its header and its dialect are known.

        A position from before there were dialects has none: then it was read with commas.
        """
        saved = position.get("dialect")
        found = Dialect(self.delimiter or ",", self.quote, self.decimal_point or ".")
        if saved is not None:
            found = Dialect(saved["delimiter"], saved["quote"], saved["decimal_point"], bool(saved["has_header"]))
        known = self.with_dialect(found)
        known.dialect = None if saved is None else found
        return known if position.get("header") is None else known.with_header(position["header"])

    def position(self) -> dict[str, Any]:
        """Return what `resumed` needs to know."""
        found = {"header": self.header}
        return found if self.dialect is None else {**found, "dialect": asdict(self.dialect)}

    def count_columns(self, block: bytes) -> list[str]:
        """Return names for the columns of text that has none."""
        ends, _ = self._framing.ends(block, 0)
        line = block[: int(ends[0]) if len(ends) else len(block)].decode(errors="replace").rstrip("\r\n")
        return [f"column{place + 1}" for place in range(len(self._split(line)))]

    def with_header(self, header: Sequence[str]) -> CsvDecoder:
        """Return a decoder that knows the names of the columns."""
        # Spreadsheets write several columns without a name, which are empty more often than not.
        names = [
            name or ("" if place == header.index("") else f"column{place + 1}") for place, name in enumerate(header)
        ]
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        if not names or "\0" in "".join(names):
            raise SourceError(f"the header must name the columns, got {names!r}; is this a text file with a header?")
        if twice:
            raise SourceError(f"the header must name each column once, got {twice[0]!r} twice; rename one of them")
        named = CsvDecoder(
            self.delimiter, names, self.quote, self.null_values, self.decimal_point, self.max_record_bytes, self.types
        )
        named.dialect = self.dialect
        return named

    def infer(self, block: bytes) -> pa.Schema:
        """Return the types of the columns as the records of `block` show them, numbers as float64."""
        if not block.strip(b"\r\n"):
            return pa.schema([(name, pa.float64()) for name in self._names()])
        try:
            found = self._infer(block)
        except pa.ArrowInvalid:
            # A row of another width that is no UTF-8 never gets to the handler. What is bad is met again when decoded.
            found = self._infer(block.decode(errors="replace").encode())
        return pa.schema([field.with_type(self._type_of(field)) for field in found])

    def _type_of(self, field: pa.Field) -> pa.DataType:
        """Return the type of a column; numbers that are written as text, 1,250.50, are left to whoever asked for it."""
        wanted = self.types.get(field.name, field.type)
        return field.type if pa.types.is_floating(wanted) and pa.types.is_string(field.type) else wanted

    def _infer(self, block: bytes) -> pa.Schema:
        convert = arrow_csv.ConvertOptions(**self._conversion(block))
        # A row of another width is a fault of that row, met again when it is decoded.
        try:
            found = self._types_of(self._read(block, convert, invalid_row_handler=lambda row: "skip"))
            return self._with_codes(block, found)
        except UnicodeDecodeError as error:
            raise pa.ArrowInvalid(str(error)) from error

    def _types_of(self, table: pa.Table) -> pa.Schema:
        """Return the types of the columns, of one that a few odd cells alone make text as numbers or dates."""
        fields = []
        for field in widen(table.schema):
            kind = None
            if pa.types.is_string(field.type):
                kind = mostly(table.column(field.name), self.decimal_point or ".")
            fields.append(field if kind is None else field.with_type(kind))
        return pa.schema(fields)

    def _with_codes(self, block: bytes, found: pa.Schema) -> pa.Schema:
        """Return the types with text for codes: digits of one width, some with zeros in front, as in 01067."""
        numbers = [field.name for field in found if pa.types.is_floating(field.type)]
        if not numbers or re.search(rb"(?:^|[^0-9.eE+-])0[0-9]", block) is None:
            return found
        options = {**self._conversion(block), "column_types": dict.fromkeys(numbers, pa.string())}
        convert = arrow_csv.ConvertOptions(include_columns=numbers, strings_can_be_null=True, **options)
        table = self._read(block, convert, invalid_row_handler=lambda row: "skip")
        codes = {name for name in numbers if are_codes(table.column(name))}
        return pa.schema([field.with_type(pa.string()) if field.name in codes else field for field in found])

    def parse(self, piece: bytes, schema: pa.Schema) -> pa.RecordBatch:
        """Parse whole records of one block."""
        conversion = self._conversion(piece)
        options = arrow_csv.ConvertOptions(column_types=schema, include_columns=schema.names, **conversion)
        table = self._read(piece, options)
        # One block of the reader makes one chunk, so that nothing is copied here.
        return table.to_batches()[0] if table.num_rows else empty_batch(schema)

    def reason(self, record: bytes, schema: pa.Schema, error: Exception | None) -> str:
        """Describe what pyarrow found in terms that the user knows."""
        text = str(error)
        if error is None:
            return "row must stand on one line, got a carriage return inside it; quote the value"
        if match := re.search(r"Expected (\d+) columns, got (\d+)", text):
            title = "; if lines stand before the header, cut them off: tail -n +N FILE" if match[1] == "1" else ""
            return f"row must have {match[1]} columns, got {match[2]}: {shorten(record)}{title}"
        if match := re.search(r"In CSV column #(\d+):.*?conversion error to [^:]+: (.*)", text, re.DOTALL):
            name = self._names()[int(match[1])]
            wanted = describe_type(schema.field(name).type)
            latin = "; is it Latin-1? iconv -f WINDOWS-1252 -t UTF-8 converts it" if "UTF8" in match[2] else ""
            return f"column {name!r} must be {wanted}, got {match[2].removeprefix('invalid value ')}{latin}"
        return f"row cannot be read: {text}"

    def frame(self, block: bytes, whole: bool) -> Frames:
        """Find the records of a block, quoted line ends considered."""
        return self._framing.frame(block, whole)

    def last_record_end(self, block: bytes) -> int:
        """Return how many bytes of `block`, which more may follow, are whole records."""
        end = block.rfind(b"\n") + 1
        if (self.quote is None or self.quote.encode() not in block) and len(block) - end <= self.max_record_bytes:
            return end
        return super().last_record_end(block)

    def _split(self, line: str) -> list[str]:
        try:
            return next(csv.reader([line], delimiter=self.delimiter or ",", quotechar=self.quote), [])
        except csv.Error as error:
            remedy = "its lines must end in a line feed; convert it with tr '\\r' '\\n'" if "\r" in line else str(error)
            raise SourceError(f"the header must be one line of CSV, got {line[:40]!r}; {remedy}") from error

    def _names(self) -> list[str]:
        if self.header is None:
            raise ValueError("header must be known, got None; call begin with the start of the file first")
        return self.header

    def _read(self, piece: bytes, convert: arrow_csv.ConvertOptions, **parse: Any) -> pa.Table:
        quote = False if self.quote is None else self.quote
        return arrow_csv.read_csv(
            pa.BufferReader(pa.py_buffer(piece)),
            # Blocks are small and decoded side by side: threads inside one would only cost.
            arrow_csv.ReadOptions(column_names=self._names(), use_threads=False, block_size=len(piece) + 1),
            # Quoted line ends need `newlines_in_values` only where blocks are cut, and it is slow.
            arrow_csv.ParseOptions(delimiter=self.delimiter or ",", quote_char=quote, **parse),
            convert,
        )

    def _conversion(self, piece: bytes) -> dict[str, Any]:
        options: dict[str, Any] = {"decimal_point": self.decimal_point or "."}
        if self.null_values is not None:
            options["null_values"] = self.null_values
        else:
            options["null_values"] = CSV_NULLS if b"N" in piece or b"n" in piece else _NULLS_WITHOUT_N
        return options


# Text that has so few cells that are no numbers was meant as numbers: these are bad records.
ODD_SHARE = 0.01
LEAST_CELLS = 20

MEANT = {
    pa.float64(): r"^[+-]?(\d+[.]?\d*|[.]\d+)([eE][+-]?\d+)?$",
    pa.timestamp("us"): r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.]\d+)?)?)?$",
}


def are_codes(column: pa.ChunkedArray) -> bool:
    """Tell whether cells are digits of one width, some of them with zeros in front."""
    import pyarrow.compute as pc

    cells = column.drop_null()
    width = pc.min_max(pc.utf8_length(cells)).as_py()
    if width["min"] != width["max"] or not width["max"] or not pc.all(pc.ascii_is_decimal(cells)).as_py():
        return False
    return bool(width["max"] > 1 and pc.any(pc.starts_with(cells, "0")).as_py())


def mostly(column: pa.ChunkedArray, decimal_point: str) -> pa.DataType | None:
    """Return the type that nearly all cells of a text column have; None where it is text."""
    cells = column.drop_null()
    import pyarrow.compute as pc

    cells = cells.filter(pc.invert(pc.is_in(cells, pa.array(CSV_NULLS))))
    if len(cells) < LEAST_CELLS:
        return None
    for kind, pattern in MEANT.items():
        fitting = pc.match_substring_regex(cells, pattern.replace("[.]", f"[{decimal_point}]"))
        odd = len(cells) - pc.sum(fitting).as_py()
        if odd <= max(1, ODD_SHARE * len(cells)):
            return kind
    return None
