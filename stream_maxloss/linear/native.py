"""Answers in the caller's own kind of frame."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["native_frame", "native_series"]


def is_record_batch(frame: Any) -> bool:
    """Return whether a frame is an Arrow record batch, which narwhals does not know."""
    return type(frame).__name__ == "RecordBatch" and type(frame).__module__.startswith("pyarrow")


def native_series(values: NDArray[Any], like: Any) -> Any:
    """Return values as a series of the same kind as the frame `like`, with its index if it has one."""
    if is_record_batch(like):
        import pyarrow as pa

        return pa.array(values)
    from river.utils import dataframe

    return dataframe.to_native_series(values, name=None, like=dataframe.into_frame(eager(like)))


def native_frame(columns: dict[Any, NDArray[np.float64]], like: Any) -> Any:
    """Return columns as a frame of the same kind as the frame `like`, with its index if it has one."""
    if is_record_batch(like):
        import pyarrow as pa

        return pa.record_batch({str(name): values for name, values in columns.items()})
    from river.utils import dataframe

    return dataframe.to_native_frame(columns, like=dataframe.into_frame(eager(like)))


def eager(frame: Any) -> Any:
    """Return a frame that has its rows: those of a query (a DuckDB relation) come as an Arrow table."""
    if type(frame).__module__.partition(".")[0] in ("duckdb", "_duckdb"):
        from stream_maxloss.rows.frame import to_table

        return to_table(frame)
    return frame
