"""The rows of a frame as dicts, for models that take one row at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import pyarrow as pa

from stream_maxloss.rows.frame import to_record_batch

__all__ = ["frame_to_dicts"]

CHUNK = 1024


def frame_to_dicts(frame: Any) -> Iterator[dict[Hashable, Any]]:
    """Yield each row as a dict, missing values left out and maps spread into one entry per key.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.rows.dicts import frame_to_dicts
    >>> list(frame_to_dicts(pa.table({"size": [1.0, None], "shape": ["round", "flat"]})))
    [{'size': 1.0, 'shape': 'round'}, {'shape': 'flat'}]

    """
    names, batch = to_record_batch(frame)
    maps = {name for name, field in zip(names, batch.schema, strict=True) if pa.types.is_map(field.type)}
    for first in range(0, batch.num_rows, CHUNK):
        part = batch.slice(first, CHUNK)
        columns = [column.to_pylist() for column in part.columns]
        for values in zip(*columns, strict=True):
            x: dict[Hashable, Any] = {}
            for name, value in zip(names, values, strict=True):
                if value is None or value != value:
                    continue
                if name in maps:
                    x.update((str(key), entry) for key, entry in value if entry is not None)
                else:
                    x[name] = value
            yield x
