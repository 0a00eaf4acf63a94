"""What `maxloss schema` does once its options are read."""

from __future__ import annotations

import sys
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from stream_maxloss.cli.messages import Messages
from stream_maxloss.cli.source_options import SourceSettings, make_bad_records, make_source
from stream_maxloss.cli.text_table import format_table, shorten
from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.base import Source

__all__ = ["describe_columns", "run_schema"]


def run_schema(
    settings: SourceSettings, rows: int, head: int, on_bad: str, max_bad: str | None, output: str = "text"
) -> None:
    """Print the columns of a source."""
    if output not in ("text", "jsonl"):
        raise ValueError(f"--output must be text or jsonl, got {output!r}")
    messages = Messages()
    messages.catch_warnings()
    bad_records = make_bad_records(on_bad, max_bad)
    source = make_source(settings, bad_records)
    try:
        source.open()
        table = read_first(source, rows, settings.name)
        ended = source.exhausted
    finally:
        source.close()
        bad_records.close()
    columns = describe_columns(table, head)
    if output == "jsonl":
        sys.stdout.buffer.write(b"".join(orjson.dumps(column) + b"\n" for column in columns))
        sys.stdout.buffer.flush()
    else:
        print(make_table(columns))  # noqa: T201
    bad = f", {bad_records.count} bad records left out" if bad_records.count else ""
    extent = "all" if ended else "the first"
    messages.say(f"{settings.name}: {len(columns)} columns; looked at {extent} {table.num_rows:,} rows{bad}")


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


def describe_columns(table: pa.Table, head: int = 3) -> list[dict[str, Any]]:
    """Return for each column its name, type, what a learner makes of it, nulls, values and first values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.cli.schema_run import describe_columns
    >>> describe_columns(pa.table({"amount": [1.5, None, 3.0]}), head=2)
    [{'column': 'amount', 'type': 'double', 'feature': 'number', 'nulls': 1, 'distinct': 2,
      'min': 1.5, 'max': 3.0, 'first': [1.5, None]}]

    """
    found = []
    for field in table.schema:
        column = table.column(field.name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        kind = feature_kind(column.type)
        limits = pc.min_max(column).as_py() if kind in ("number", "yes or no") else {"min": None, "max": None}
        found.append(
            {
                "column": field.name,
                "type": str(field.type),
                "feature": kind,
                "nulls": column.null_count,
                "distinct": None if kind == "none" else pc.count_distinct(column).as_py(),
                **limits,
                "first": [plain(value) for value in column.slice(0, head).to_pylist()],
            }
        )
    return found


def feature_kind(kind: pa.DataType) -> str:
    """Say what a learner makes of a column: a number, one feature for each text, or nothing that it can use."""
    if pa.types.is_boolean(kind):
        return "yes or no"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "number"
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return "one per text" if is_text else "none"


def plain(value: Any) -> Any:
    """Return a value that JSON can express."""
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def make_table(columns: list[dict[str, Any]]) -> str:
    """Return the columns as a table."""
    lines = []
    for column in columns:
        first = ", ".join("null" if value is None else str(value) for value in column["first"])
        distinct = "" if column["distinct"] is None else f"{column['distinct']:,}"
        lines.append(
            [
                shorten(column["column"], 30),
                shorten(column["type"], 20),
                column["feature"],
                shorten(first, 40),
                f"{column['nulls']:,}",
                distinct,
                limit(column["min"]),
                limit(column["max"]),
            ]
        )
    header = ["column", "type", "feature", "first values", "nulls", "distinct", "min", "max"]
    return format_table(header, lines, left=range(4))


def limit(value: Any) -> str:
    """Return an end of the range of a column as text."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
