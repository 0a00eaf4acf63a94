"""What `maxloss schema` does once its options are read."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from stream_maxloss.cli.options.intake import IntakeOptions, csv_types
from stream_maxloss.cli.options.source import BadRecordOptions, SourceOptions
from stream_maxloss.cli.options.usage import require_choice
from stream_maxloss.cli.reports.messages import Messages
from stream_maxloss.cli.reports.text_table import format_table, shorten
from stream_maxloss.errors import SourceError
from stream_maxloss.intake import Intake
from stream_maxloss.intake.nested import flatten
from stream_maxloss.intake.plan import is_text
from stream_maxloss.rows.frame import one_batch
from stream_maxloss.run.task import HEAD_ROWS
from stream_maxloss_connectors import Source, refuse_outputs_that_are_read

__all__ = ["describe_columns", "run_schema"]


def run_schema(
    options: SourceOptions,
    bad: BadRecordOptions,
    rows: int,
    head: int,
    output: str = "text",
    intake: IntakeOptions | None = None,
) -> None:
    """Print the columns of a source."""
    require_choice("--output", output, ("text", "jsonl"))
    messages = Messages()
    messages.catch_all()
    bad_records = bad.make()
    taking = (IntakeOptions() if intake is None else intake).make()
    source = options.open(bad_records, types=csv_types(taking))
    try:
        refuse_outputs_that_are_read(source, {"dead letters": bad_records})
        source.open()
        table = read_first(source, rows, options.name)
        ended, dialect = source.exhausted, dialect_in(source.position())
    finally:
        source.close()
        bad_records.close()
    columns = describe_columns(table, head, taking)
    if output == "jsonl":
        sys.stdout.buffer.write(b"".join(orjson.dumps(column) + b"\n" for column in columns))
        sys.stdout.buffer.flush()
    else:
        print(make_table(columns, terminal_width()))  # noqa: T201
    left_out = f", {bad_records.count} bad records left out" if bad_records.count else ""
    extent = "all" if ended else "the first"
    messages.say(f"{options.name}: {len(columns)} columns; looked at {extent} {table.num_rows:,} rows{left_out}")
    if dialect is not None:
        messages.say(f"{options.name}: {dialect}")
    for note in taking.notes:
        messages.say(note)


def dialect_in(position: dict[str, Any]) -> str | None:
    """Return how CSV files are written; None where that is as everybody expects, or there are none."""
    from stream_maxloss_connectors.text.csv_dialect import Dialect

    for entry in position.values():
        found = entry.get("dialect") or (entry.get("at") or {}).get("dialect") if isinstance(entry, dict) else None
        if found is not None and Dialect(**found) != Dialect():
            return Dialect(**found).describe()
    return None


def terminal_width() -> int | None:
    """Return how wide the table may be: as the terminal, or as COLUMNS says; None where nobody looks."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return max(40, shutil.get_terminal_size().columns)
    return None


def read_first(source: Source, rows: int, name: str) -> pa.Table:
    """Return the first rows of a source.

    Raises
    ------
    SourceError
        If there are none.

    """
    batches: list[pa.RecordBatch] = []
    missing = rows
    while not source.exhausted and missing:
        batch = source.next_batch(missing, 0.5)
        if batch is not None:
            batches.append(batch.records)
            missing -= batch.num_rows
    if not missing and not source.exhausted:
        source.next_batch(1, 0.0)  # only when asked for one more, a source that is at its end knows it
    if not batches:
        raise SourceError(f"{name}: source must have rows to be looked at, got none; wait until some were written")
    return pa.Table.from_batches(batches)


def describe_columns(table: pa.Table, head: int = 3, intake: Intake | None = None) -> list[dict[str, Any]]:
    """Return for each column its name, type, what a learner makes of it, nulls, values and first values.

    Objects inside objects are columns of their own.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.cli.reports.columns import describe_columns
    >>> describe_columns(pa.table({"amount": [1.5, None, 3.0]}), head=2)
    [{'column': 'amount', 'type': 'double', 'feature': 'number', 'nulls': 1, 'distinct': 2,
      'min': 1.5, 'max': 3.0, 'first': [1.5, None]}]

    """
    intake = Intake() if intake is None else intake
    records = flatten(one_batch(table))
    intake.settle(records.slice(0, HEAD_ROWS))
    found = []
    for field in records.schema:
        column = records.column(field.name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        kind = intake.plans[field.name].describe()
        has_limits = kind in ("number", "yes or no") and not is_text(column.type)
        limits = pc.min_max(column).as_py() if has_limits else {"min": None, "max": None}
        limits = {name: plain(value) for name, value in limits.items()}
        found.append(
            {
                "column": field.name,
                "type": str(field.type),
                "feature": kind,
                "nulls": column.null_count,
                "distinct": count_distinct(column),
                **limits,
                "first": [plain(value) for value in column.slice(0, head).to_pylist()],
            }
        )
    return found


def count_distinct(column: pa.Array) -> int | None:
    """Return how many values there are; None where Arrow cannot tell one from another."""
    try:
        return None if pa.types.is_nested(column.type) else int(pc.count_distinct(column).as_py())
    except pa.ArrowNotImplementedError:
        return None


def plain(value: Any) -> Any:
    """Return a value that JSON can express."""
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def make_table(columns: list[dict[str, Any]], width: int | None = None) -> str:
    """Return the columns as a table, as wide as it may be.

    First values are cut, then ranges, counts and types left out. What becomes of a column is left last.
    """
    width = sys.maxsize if width is None else width
    header = ["column", "type", "feature", "first values", "nulls", "distinct", "min", "max"]
    lines = [cells_of(column) for column in columns]
    for kept in (8, 6, 5, 4, 3):
        for length in (40, 20, 10):
            short = [
                [shorten(cell, length) if place == 3 else cell for place, cell in enumerate(line)] for line in lines
            ]
            text = format_table(header[:kept], [line[:kept] for line in short], left=range(4))
            if max(map(len, text.splitlines())) <= width:
                return text
    return make_narrow_table(lines, width)


def make_narrow_table(lines: list[list[str]], width: int) -> str:
    """Return a table of names and features alone; of the two, the longer ones are cut first."""
    features = max(len(line[2]) for line in lines)
    names = max(len("column"), *(len(line[0]) for line in lines))
    names = max(min(names, width - 2 - features), min(names, width // 2 - 1))
    cells = [[shorten(line[0], names), shorten(line[2], width - 2 - names)] for line in lines]
    return format_table(["column", "feature"], cells, left=range(2))


def cells_of(column: dict[str, Any]) -> list[str]:
    """Return the line of a column."""
    first = ", ".join("null" if value is None else shown(value) for value in column["first"])
    distinct = "" if column["distinct"] is None else f"{column['distinct']:,}"
    limits = [limit(column["min"]), limit(column["max"])]
    names = [shorten(column["column"], 30) or "(no name)", shorten(column["type"], 20), column["feature"]]
    return [*names, shorten(first, 40), f"{column['nulls']:,}", distinct, *limits]


def shown(value: Any) -> str:
    """Return a value as it was read: whole numbers, which are kept as floating ones, without a fraction."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else str(value)


def limit(value: Any) -> str:
    """Return an end of the range of a column as text."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
