"""The promises of `Source` and `Sink` as checks that anyone can run over his own.

Call `check_source` and `check_sink` from a test; a broken promise is an `AssertionError` that says which and where.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from stream_maxloss_connectors.base import Batch, Position, Sink, Source

__all__ = ["check_sink", "check_source", "read_all"]

Rows = dict[str, list[dict[str, Any]]]

# A `next_batch(…, timeout)` may overrun its timeout by this many seconds before it counts as deaf. Only a source that
# blocks is meant to be caught, never a slow machine.
_GRACE = 30.0

# How often in a row a bounded source may have nothing before it counts as hung.
_PATIENCE = 50


def check_source(
    make_source: Callable[[], Source],
    expected: Mapping[str, Sequence[Mapping[str, Any]]] | Sequence[Mapping[str, Any]] | None = None,
    *,
    cuts: Iterable[int] | None = None,
    max_rows: Iterable[int] = (1, 3, 1000),
    timeout: float = 1.0,
    bounded: bool = True,
) -> None:
    """Read a source to every cut, reopen a fresh one at its position, and see that nothing is lost or comes twice.

    Parameters
    ----------
    make_source
        Makes a new source over the same data; it is called often, so a handful of rows serves best.
    expected
        The rows by partition, or those of all partitions in a list when there is one partition. Without it, what the
        source yields when read straight through.
    cuts
        Numbers of batches to read before the position is taken; every one, when not given.
    max_rows
        Sizes to read by.
    timeout
        Seconds given to each `next_batch`. Also how long to wait for the end of a source that is not bounded.
    bounded
        False for a source that is never exhausted.

    Raises
    ------
    AssertionError
        If a promise is broken.

    Examples
    --------
    >>> from stream_maxloss_connectors.contract import check_source
    >>> from stream_maxloss_connectors.testing import MemorySource
    >>> rows = [{"x": 1.0}, {"x": 2.0}, {"x": 3.0}]
    >>> check_source(lambda: MemorySource(rows), rows)
    >>> check_source(lambda: MemorySource(rows), rows[:2])
    Traceback (most recent call last):
    ...
    AssertionError: read straight through, 1 row at most: partition '0' must hold 2 rows, got 3; the first ...

    """
    sizes = list(max_rows)
    straight, schema, _ = _read_from(make_source, None, sizes[0], timeout, bounded)
    wanted = straight if expected is None else _by_partition(expected, straight)
    for size in sizes:
        plural = "row" if size == 1 else "rows"
        found, other, batches = _read_from(make_source, None, size, timeout, bounded)
        _same(found, wanted, f"read straight through, {size} {plural} at most")
        _require(schema is None or schema.equals(other), f"the schema must not depend on max_rows={size}, got {other}")
        for cut in range(batches + 1) if cuts is None else cuts:
            _check_cut(make_source, wanted, schema, cut, size, timeout, bounded)
    _check_close(make_source)


def check_sink(
    make_sink: Callable[[str], Sink],
    read: Callable[[str], Any],
    batches: Sequence[pa.RecordBatch],
) -> None:
    """Write to every cut, flush, write on, drop the sink as a kill does, reopen at the position, and write the rest.

    Parameters
    ----------
    make_sink
        Makes a new sink at a place of the given name; the same name is the same place.
    read
        Returns what that place holds after `close`, as bytes or as rows: anything that can be compared. For a sink
        that is not exactly once it must be a list, of which only the order and completeness are checked.
    batches
        What to write; at least two.

    Raises
    ------
    AssertionError
        If what an interrupted run leaves behind differs from what a straight one does.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss_connectors.contract import check_sink
    >>> from stream_maxloss_connectors.testing import MemorySink
    >>> places = {}
    >>> batches = [pa.RecordBatch.from_pylist([{"p": i}]) for i in range(3)]
    >>> check_sink(lambda name: MemorySink(places.setdefault(name, [])), places.get, batches)

    """
    if len(batches) < 2:
        raise ValueError(f"batches must be at least two, got {len(batches)}")
    # The straight run flushes at the same rows as the cut one: a flush may be visible in the bytes of a file.
    for cut in range(len(batches) + 1):
        for written_on in range(len(batches) - cut + 1):
            straight, broken = f"straight-{cut}-{written_on}", f"cut-{cut}-{written_on}"
            with make_sink(straight) as sink:
                sink.open()
                _write(sink, batches[:cut])
                sink.commit(sink.flush())
                _write(sink, batches[cut:])
                sink.commit(sink.flush())
            wanted = read(straight)
            for committed in (False, True) if sink.holds_back else (True,):
                place = f"{broken}-{committed}"
                _write_and_die(make_sink, place, batches, cut, written_on, committed)
                _compare_sinks(sink.exactly_once, read(place), wanted, cut)


def read_all(
    source: Source, max_rows: int = 1000, timeout: float = 1.0, bounded: bool = True, most: float = math.inf
) -> list[Batch]:
    """Read `most` batches of an opened source, or until it is exhausted or, if it never is, nothing came in time."""
    batches: list[Batch] = []
    empty = 0
    while len(batches) < most and not source.exhausted:
        batch = _next(source, max_rows, timeout)
        if batch is not None:
            batches.append(batch)
        elif not bounded:
            break
        empty = 0 if batch is not None else empty + 1
        _require(empty < _PATIENCE, f"a bounded source must give rows or be exhausted, got {empty} times None")
    return batches


def _read_from(
    make_source: Callable[[], Source], position: Position | None, max_rows: int, timeout: float, bounded: bool
) -> tuple[Rows, pa.Schema | None, int]:
    with make_source() as source:
        source.open(position)
        batches = read_all(source, max_rows, timeout, bounded)
        _require(source.exhausted == bounded, f"exhausted must be {bounded} at the end, got {source.exhausted}")
        return _collect(batches), batches[0].records.schema if batches else None, len(batches)


def _check_cut(
    make_source: Callable[[], Source],
    wanted: Rows,
    schema: pa.Schema | None,
    cut: int,
    max_rows: int,
    timeout: float,
    bounded: bool,
) -> None:
    where = f"cut after {cut} batches of at most {max_rows} rows"
    with make_source() as source:
        source.open()
        head = read_all(source, max_rows, timeout, bounded, cut)
        position = source.position()
        _require(position == source.position(), f"{where}: position() must not move by itself")
    position = _through_json(position, where)
    tail, later_schema, _ = _read_from(make_source, position, max_rows, timeout, bounded)
    begun = _collect(head)
    both = {name: begun.get(name, []) + tail.get(name, []) for name in {**begun, **tail}}
    _same(both, wanted, where)
    if schema is not None and later_schema is not None:
        _require(schema.equals(later_schema), f"{where}: the schema must be {schema}, got {later_schema}")


def _check_close(make_source: Callable[[], Source]) -> None:
    source = make_source()
    source.close()
    source = make_source()
    source.open()
    names = source.partitions()
    _require(names == source.partitions(), f"partitions() must be stable, got {source.partitions()} after {names}")
    _require(source.lag_unit in ("records", "bytes"), f"lag_unit must be 'records' or 'bytes', got {source.lag_unit!r}")
    lag = source.lag()
    _require(lag is None or lag >= 0, f"lag() must not be negative, got {lag!r}")
    source.close()
    source.close()


def _next(source: Source, max_rows: int, timeout: float) -> Batch | None:
    started = time.monotonic()
    batch = source.next_batch(max_rows, timeout)
    taken = time.monotonic() - started
    _require(taken < timeout + _GRACE, f"next_batch must return within {timeout} s, took {taken:.1f} s")
    if batch is not None:
        _require(0 < batch.num_rows <= max_rows, f"a batch must hold 1 to {max_rows} rows, got {batch.num_rows}")
        _require(batch.partition in source.partitions(), f"partitions() must list {batch.partition!r}, which gave rows")
        _require(isinstance(batch.address(0), str), f"address must give a text, got {batch.address(0)!r}")
    return batch


def _collect(batches: Iterable[Batch]) -> Rows:
    rows: Rows = {}
    for batch in batches:
        rows.setdefault(batch.partition, []).extend(batch.records.to_pylist())
    return rows


def _by_partition(expected: Any, straight: Rows) -> Rows:
    if isinstance(expected, Mapping):
        return {name: [dict(row) for row in rows] for name, rows in expected.items()}
    _require(len(straight) <= 1, f"expected must be given by partition when there are several, got {list(straight)}")
    return {name: [dict(row) for row in expected] for name in straight or ["all"]}


def _same(found: Rows, wanted: Rows, where: str) -> None:
    for name in {**wanted, **found}:
        have, want = found.get(name, []), wanted.get(name, [])
        different = [i for i, (a, b) in enumerate(zip(have, want, strict=False)) if _key(a) != _key(b)]
        first = different[0] if different else min(len(have), len(want))
        _require(
            not different and len(have) == len(want),
            f"{where}: partition {name!r} must hold {len(want)} rows, got {len(have)}; the first difference is at row "
            f"{first}: {want[first : first + 1]} against {have[first : first + 1]}",
        )


def _key(row: Mapping[str, Any]) -> str:
    """As text, where nan equals nan and 1 differs from 1.0."""
    return repr(sorted(row.items()))


def _through_json(position: Position, where: str) -> Position:
    try:
        loaded = json.loads(json.dumps(position, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{where}: position() must be JSON-able, got {position!r}") from error
    _require(loaded == position, f"{where}: position() must survive JSON, got {loaded!r} from {position!r}")
    return loaded


def _write(sink: Sink, batches: Iterable[pa.RecordBatch]) -> None:
    for records in batches:
        sink.write(records)


def _write_and_die(
    make_sink: Callable[[str], Sink],
    place: str,
    batches: Sequence[pa.RecordBatch],
    cut: int,
    written_on: int,
    committed: bool,
) -> None:
    killed = make_sink(place)
    killed.open()
    _write(killed, batches[:cut])
    position = _through_json(dict(killed.flush()), f"cut after {cut} batches")
    if committed:
        killed.commit(position)
    _write(killed, batches[cut : cut + written_on])
    if written_on:
        # A later flush whose checkpoint was never finished: it is durable, and still has to go.
        killed.flush()
    with make_sink(place) as sink:
        sink.open(position)
        _write(sink, batches[cut:])
        sink.commit(sink.flush())
    sink.close()


def _compare_sinks(exactly_once: bool, broken: Any, straight: Any, cut: int) -> None:
    if exactly_once:
        _require(broken == straight, f"killed after {cut} batches: the sink must hold {straight!r}, got {broken!r}")
        return
    remaining = iter(broken)
    _require(all(row in remaining for row in straight), f"killed after {cut} batches: rows are missing in {broken!r}")


def _require(promise: bool, message: str) -> None:
    if not promise:
        raise AssertionError(message)
