"""Sources as River streams: iterators of `(x, y)` with `x` a dict, in the argument style of `river.stream`.

River reads CSV, ARFF, LIBSVM, SQL and frames in memory. These functions add Arrow, Parquet, JSON lines, Kafka and files
that are still being written. Two things differ from `river.stream.iter_csv`: values have types, not only `str`, and a
null is an *absent key*, never a `None` value, since River's linear models cannot use `None`.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from stream_maxloss_connectors.base import Position, Source

__all__ = ["iter_arrow", "iter_batches", "iter_follow", "iter_jsonl", "iter_kafka", "iter_parquet"]

FilePath = str | os.PathLike[str]
Target = str | list[str] | None
Converters = dict[str, Callable[[Any], Any]]
Stream = Iterator[tuple[dict[str, Any], Any]]

# Seconds for one call of `next_batch`: short, so that an interrupt is noticed soon.
_PATIENCE = 0.2


def iter_batches(
    source: Source,
    target: Target = None,
    converters: Converters | None = None,
    drop: list[str] | None = None,
    fraction: float = 1.0,
    seed: int | None = None,
    *,
    position: Position | None = None,
    batch_rows: int = 1024,
    idle_exit: float | None = None,
) -> Stream:
    """Iterate over the rows of any source; the other functions of this module are short forms of it.

    The source is opened with the first row and closed after the last.

    Parameters
    ----------
    source
        Where the rows come from.
    target
        The column that becomes `y`. A list of names gives a dict, None gives `y=None`. A null target is None.
    converters
        Functions by column name, applied to the values that are present; the target's too.
    drop
        Columns to leave out.
    fraction
        Share of the rows to keep, drawn with the same random numbers as in `river.stream.iter_csv`.
    seed
        Makes the drawing repeatable.
    position
        Where to begin, as `source.position()` gave it; None for the beginning.
    batch_rows
        Rows to take from the source at once. Does not change what comes out.
    idle_exit
        Seconds without a row after which a source that is never exhausted ends; None waits for ever.

    Raises
    ------
    ValueError
        If `target` or `drop` names a column that the rows do not have.

    Notes
    -----
    An entry `k: v` of a map column is the feature `str(k)` with value `v`, as sparse rows travel through Arrow.

    Examples
    --------
    >>> from stream_maxloss_connectors.river_streams import iter_batches
    >>> from stream_maxloss_connectors.testing import MemorySource
    >>> source = MemorySource([{"a": 1, "b": 2.5, "y": True}, {"a": None, "b": 0.5, "y": False}])
    >>> for x, y in iter_batches(source, target="y"):
    ...     print(x, y)
    {'a': 1, 'b': 2.5} True
    {'b': 0.5} False

    """
    batches = _from_source(source, position, batch_rows, idle_exit)
    return _iterate(batches, target, converters, drop, fraction, seed)


def iter_arrow(
    source: Any,
    target: Target = None,
    converters: Converters | None = None,
    drop: list[str] | None = None,
    fraction: float = 1.0,
    seed: int | None = None,
    **kwargs: Any,
) -> Stream:
    """Iterate over the rows of Arrow data in memory, or of anything that `open_source` can open.

    Parameters
    ----------
    source
        A `pyarrow.Table`, `RecordBatch` or `RecordBatchReader`, an iterable of record batches, any object with
        `__arrow_c_stream__` (a Polars or pandas frame), a `Source`, or a path or URI.
    target, converters, drop, fraction, seed
        As for `iter_batches`.
    kwargs
        For a path or URI: options of `open_source`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss_connectors.river_streams import iter_arrow
    >>> table = pa.table({"colour": ["red", None], "size": [1.5, 2.5], "sold": [True, False]})
    >>> for x, y in iter_arrow(table, target="sold"):
    ...     print(x, y)
    {'colour': 'red', 'size': 1.5} True
    {'size': 2.5} False

    """
    if isinstance(source, Source):
        return iter_batches(source, target, converters, drop, fraction, seed, **kwargs)
    if isinstance(source, str | os.PathLike):
        from stream_maxloss_connectors.open import open_source

        return iter_batches(open_source(source, **kwargs), target, converters, drop, fraction, seed)
    return _iterate(_from_memory(source), target, converters, drop, fraction, seed)


def iter_parquet(filepath: FilePath, target: Target = None, *selection: Any, **kwargs: Any) -> Stream:
    """Iterate over the rows of a Parquet file, a glob, or a directory of them in name order.

    Parameters
    ----------
    filepath
        A path, a glob or a directory.
    target, selection, kwargs
        As for `iter_arrow`: `target, converters, drop, fraction, seed` and the options of `open_source`.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> from stream_maxloss_connectors.river_streams import iter_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"x": [1, 2], "id": ["a", "b"], "y": [0, 1]}), f"{folder}/day.parquet")
    ...     print(list(iter_parquet(f"{folder}/day.parquet", target="y", drop=["id"])))
    [({'x': 1}, 0), ({'x': 2}, 1)]

    """
    return iter_arrow(filepath, target, *selection, format="parquet", **kwargs)


def iter_jsonl(filepath: FilePath, target: Target = None, *selection: Any, **kwargs: Any) -> Stream:
    """Iterate over the rows of a JSON lines file, plain or compressed.

    Parameters
    ----------
    filepath, target, selection, kwargs
        As for `iter_parquet`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from stream_maxloss_connectors.river_streams import iter_jsonl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "day.jsonl")
    ...     _ = path.write_text('{"x": 1.5, "y": true}' + chr(10) + '{"y": false}' + chr(10))
    ...     print(list(iter_jsonl(path, target="y")))
    [({'x': 1.5}, True), ({}, False)]

    """
    return iter_arrow(filepath, target, *selection, format="jsonl", **kwargs)


def iter_follow(
    filepath: FilePath | list[FilePath],
    target: Target = None,
    converters: Converters | None = None,
    drop: list[str] | None = None,
    fraction: float = 1.0,
    seed: int | None = None,
    *,
    idle_exit: float | None = None,
    **kwargs: Any,
) -> Stream:
    """Iterate over the rows of files that grow, rotate or appear, waiting for more like `tail -F`.

    Parameters
    ----------
    filepath
        One or more paths, globs or directories.
    target, converters, drop, fraction, seed
        As for `iter_batches`.
    idle_exit
        Seconds without a row after which the iteration ends; None waits for ever.
    kwargs
        Options of `FollowedSource`; `until_eof=True` ends at what is there now.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from stream_maxloss_connectors.river_streams import iter_follow
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "live.csv")
    ...     _ = path.write_text("x,y" + chr(10) + "1,0" + chr(10) + "2,1" + chr(10) + "3")
    ...     print(list(iter_follow(path, target="y", until_eof=True)))
    [({'x': 1.0}, 0.0), ({'x': 2.0}, 1.0)]

    """
    from stream_maxloss_connectors.follow.source import FollowedSource

    paths = filepath if isinstance(filepath, list) else [filepath]
    source = FollowedSource(paths, **kwargs)
    return iter_batches(source, target, converters, drop, fraction, seed, idle_exit=idle_exit)


def iter_kafka(
    uri: str,
    target: Target = None,
    converters: Converters | None = None,
    drop: list[str] | None = None,
    fraction: float = 1.0,
    seed: int | None = None,
    *,
    position: Position | None = None,
    idle_exit: float | None = None,
    **kwargs: Any,
) -> Stream:
    """Iterate over the rows of a Kafka topic, in the argument style of `river.stream`.

    Parameters
    ----------
    uri
        `kafka://host:port/topic?partitions=0-3&format=json`.
    target, converters, drop, fraction, seed
        As for `iter_batches`.
    position
        Where to begin, as a source's `position()` gave it; None for where `start` says.
    idle_exit
        Seconds without a row after which the iteration ends; None waits for ever.
    kwargs
        Options of `KafkaSource`; `until_eof=True` ends at what is there now.

    Examples
    --------
    >>> from stream_maxloss_connectors.kafka import iter_kafka
    >>> rows = iter_kafka("kafka://localhost:9092/orders", target="fraud", until_eof=True)
    >>> for x, y in rows:  # doctest: +SKIP
    ...     model.learn_one(x, y)

    """
    from stream_maxloss_connectors.kafka.source import KafkaSource

    source = KafkaSource.from_uri(uri, **kwargs)
    return iter_batches(source, target, converters, drop, fraction, seed, position=position, idle_exit=idle_exit)


def _iterate(
    batches: Iterator[pa.RecordBatch],
    target: Target,
    converters: Converters | None,
    drop: list[str] | None,
    fraction: float,
    seed: int | None,
) -> Stream:
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction must lie in (0, 1], got {fraction!r}")
    rng = random.Random(seed)
    targets = target if isinstance(target, list) else [] if target is None else [target]

    def pairs() -> Stream:
        for row in _rows(batches, targets, drop or []):
            if fraction < 1 and rng.random() > fraction:
                continue
            for name, convert in (converters or {}).items():
                if name in row:
                    row[name] = convert(row[name])
            labels = {name: row.pop(name, None) for name in targets}
            yield row, labels if isinstance(target, list) else labels.get(str(target))

    return pairs()


def _rows(batches: Iterator[pa.RecordBatch], targets: list[str], drop: list[str]) -> Iterator[dict[str, Any]]:
    for records in batches:
        for name in targets + drop:
            if name not in records.schema.names:
                raise ValueError(
                    f"target and drop must name columns of the rows, got {name!r}; there are {records.schema.names!r}"
                )
        maps = [field.name for field in records.schema if pa.types.is_map(field.type)]
        for values in records.drop_columns(drop).to_pylist():
            row = {name: value for name, value in values.items() if value is not None}
            for name in maps:
                row.update((str(key), value) for key, value in row.pop(name, ()) if value is not None)
            yield row


def _from_source(
    source: Source, position: Position | None, batch_rows: int, idle_exit: float | None
) -> Iterator[pa.RecordBatch]:
    last = time.monotonic()
    with source:
        source.open(position)
        while not source.exhausted:
            batch = source.next_batch(batch_rows, _PATIENCE if idle_exit is None else min(_PATIENCE, idle_exit))
            if batch is not None:
                yield batch.records
                last = time.monotonic()
            elif idle_exit is not None and time.monotonic() - last >= idle_exit:
                return


def _from_memory(data: Any) -> Iterator[pa.RecordBatch]:
    """One batch at a time, so that a reader larger than memory streams through."""
    if isinstance(data, pa.RecordBatch):
        yield data
    elif hasattr(data, "__arrow_c_stream__"):
        yield from pa.RecordBatchReader.from_stream(data)
    elif isinstance(data, Iterable):
        yield from data
    else:
        raise TypeError(f"source must be Arrow data, a Source or a path, got {type(data).__name__}")
