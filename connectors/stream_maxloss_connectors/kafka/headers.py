"""Record headers as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

__all__ = ["add_headers"]


def add_headers(records: pa.RecordBatch, names: Sequence[str], rows: Sequence[Any]) -> pa.RecordBatch:
    """Append a text column `header.<name>` for each name.

    Kafka allows a header to come more than once: the last one counts. Bytes that are no UTF-8 are replaced.

    Parameters
    ----------
    records
        The rows.
    names
        Names of the headers.
    rows
        For each row the headers of its message: a list of `(name, bytes)`, or None.

    """
    found = [dict(headers or ()) for headers in rows]
    for name in names:
        values = [_text(headers.get(name)) for headers in found]
        records = records.append_column(f"header.{name}", pa.array(values, pa.string()))
    return records


def _text(value: bytes | str | None) -> str | None:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
