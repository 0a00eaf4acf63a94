"""Many rows given as a frame: Arrow, pandas, polars or anything else that narwhals knows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.features import FeatureMap, HashedFeatureMap
from stream_maxloss.machine.pointers import address_of
from stream_maxloss.rows.columns import NumberColumn, read_columns, to_floats
from stream_maxloss.rows.csr import assemble
from stream_maxloss.rows.heading import Heading, heading_of
from stream_maxloss.rows.matrix import NumberTable

__all__ = ["Rows", "read_frame"]

Features = FeatureMap | HashedFeatureMap

# Values per stretch of rows: turning columns into rows is twice as fast while the rows stay in the cache.
STRETCH = 32768


class NumericNames:
    """The numeric features of some columns, spelt out only where they are needed."""

    def __init__(self, columns: list[Any]) -> None:
        self._columns = columns

    def __iter__(self) -> Iterator[Hashable]:
        for column in self._columns:
            yield from column.numeric_names()


@dataclass(slots=True)
class Rows:
    """Rows as the kernels take them: a matrix with its columns, or a sparse matrix in CSR form.

    Parameters
    ----------
    names
        The numeric features: of each matrix column, or for CSR those that are not text.
    columns
        The learner's column of each matrix column, ascending; or, for CSR, the indices.
    values
        The matrix (two dimensions), or the CSR values (one dimension). NaN marks an absent value. A copy of the
        caller's data: kernels may write to it.
    indptr
        CSR row boundaries; None for a matrix.
    prefix
        True if the columns are just 0, 1, ..., k-1, the fastest form.

    """

    names: Iterable[Hashable]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]
    indptr: NDArray[np.int64] | None
    prefix: bool

    def __len__(self) -> int:
        return len(self.values) if self.indptr is None else len(self.indptr) - 1

    @property
    def last_column(self) -> int:
        """The greatest column of any row; -1 if there is none. Those of a matrix ascend."""
        if len(self.columns) == 0:
            return -1
        return int(self.columns[-1] if self.indptr is None else self.columns.max())

    def addresses(self, spelt_out: bool = False) -> tuple[int, int, int, int, int]:
        """Return the rows as kernels take them: their number, indptr (0 for a matrix), columns, width and values.

        The columns are 0 for the first ones, unless they are to be spelt out.
        """
        indptr = 0 if self.indptr is None else address_of(self.indptr)
        columns = 0 if self.prefix and not spelt_out else address_of(self.columns)
        return len(self), indptr, columns, len(self.columns), address_of(self.values)


@dataclass
class Numbers:
    """An all-numeric frame as columns, in the learner's order.

    Parameters
    ----------
    names
        The features.
    columns
        The learner's column of each, ascending.
    table
        The columns.
    num_rows
        Their length.

    """

    names: list[Hashable]
    columns: NDArray[np.int64]
    table: NumberTable
    num_rows: int

    @property
    def prefix(self) -> bool:
        """Whether the columns are just 0, 1, ..., k-1."""
        return len(self.columns) == 0 or int(self.columns[-1]) == len(self.columns) - 1

    def stretches(self, start: int = 0) -> Iterator[Rows]:
        """Yield the rows from `start` on as matrices that fit into a core's cache."""
        names, columns, rows, prefix = self.names, self.columns, self.table.rows, self.prefix
        for first, last in stretches(self.num_rows, len(columns), start):
            yield Rows(names, columns, rows(first, last), None, prefix)


def is_arrow(frame: Any) -> bool:
    """Return whether a frame is an Arrow table or record batch."""
    import pyarrow as pa

    return isinstance(frame, (pa.RecordBatch, pa.Table))


def is_numeric_pandas(frame: Any) -> bool:
    """Return whether a frame is pandas and every column a plain numpy number or boolean."""
    if type(frame).__module__.partition(".")[0] != "pandas" or not hasattr(frame, "dtypes"):
        return False
    return all(isinstance(kind, np.dtype) and kind.kind in "iufb" for kind in frame.dtypes)


def read_frame(frame: Any, features: Features, learn: bool) -> Iterator[Rows]:
    """Yield the rows of a frame, in stretches that fit into a core's cache.

    With `learn`, new names get columns in the order in which they first appear, row by row, as if the rows had come one
    at a time; without, features that were never learned are left out. A column of Arrow type `map` spreads into one
    feature per entry, named by its key: the form of sparse rows.

    Raises
    ------
    ValueError
        If a value is infinite, or a column has a type that is no feature.

    """
    if is_numeric_pandas(frame):
        names = list(frame.columns)
        for first, last in stretches(len(frame), len(names)):
            matrix = frame.iloc[first:last].to_numpy(dtype=np.float64, copy=True)
            yield from_matrix(names, np.ascontiguousarray(matrix), features, learn)
        return
    numbers = open_numbers(frame, features, learn)
    if numbers is not None:
        yield from numbers.stretches()
        return
    names, batch = to_record_batch(frame)
    for first, last in stretches(batch.num_rows, batch.num_columns):
        yield read_batch(names, batch.slice(first, last - first), features, learn)


def stretches(rows: int, columns: int, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield (first, last + 1) of stretches of about a quarter of a megabyte, at least one.

    All begin at a multiple of 64 rows from the start, hence at a cache line of each column if the first one does.
    """
    length = max(256, STRETCH // max(1, columns) // 64 * 64)
    for first in range(start, max(rows, start + 1), length):
        yield first, min(first + length, rows)


def learn_names(heading: Heading, batch: Any, features: Features, found: list[int]) -> None:
    """Assign columns to the names of a numeric batch that have none, in the order in which they first appear."""
    # The first row tells nearly always where a name arrives, and costs next to nothing.
    start = batch.slice(0, 1)
    first = NumberTable(start, heading.is_wide, np.arange(batch.num_columns)).rows(0, start.num_rows)
    absent: NDArray[np.bool_] = np.any(np.isnan(first), axis=0)
    new = [place for place, column in enumerate(found) if column < 0]
    if len(first) and not absent.any():
        features.add(heading.names[j] for j in new)
        return
    columns = [to_floats(batch.column(j)) if absent[j] else first[:, j] for j in new]
    add_in_order([NumberColumn(heading.names[j], values) for j, values in zip(new, columns, strict=True)], features)


def open_numbers(frame: Any, features: Features, learn: bool) -> Numbers | None:
    """Return an all-numeric Arrow frame as columns; None if it is something else or two names share a column.

    New names get columns as in `read_frame`.
    """
    if not is_arrow(frame):
        return None
    batch = one_batch(frame)
    heading = heading_of(batch, features)
    if not heading.is_numeric:
        return None
    order = heading.order(features.find, partial(learn_names, heading, batch, features) if learn else None)
    if not order.is_distinct:
        return None
    table = NumberTable(batch, heading.is_wide, order.places)
    return Numbers(order.names, order.columns, table, batch.num_rows)


def read_batch(names: list[Hashable], batch: Any, features: Features, learn: bool) -> Rows:
    """Return the rows of one record batch in CSR form."""
    columns = read_columns(names, batch)
    if learn:
        add_in_order(columns, features)
    return from_columns(columns, batch.num_rows, features)


def to_record_batch(frame: Any) -> tuple[list[Hashable], Any]:
    """Return the column names as the caller spells them and the data as one Arrow record batch."""
    import pyarrow as pa

    if isinstance(frame, pa.RecordBatch):
        return list(frame.schema.names), frame
    if type(frame).__module__.partition(".")[0] == "pandas":
        return list(frame.columns), pandas_batch(frame)
    if not isinstance(frame, pa.Table):
        frame = to_table(frame)
    return list(frame.schema.names), one_batch(frame)


def to_table(frame: Any) -> Any:
    """Return a frame of another library as an Arrow table: polars, DuckDB relations, whatever speaks Arrow or narwhals.

    Raises
    ------
    TypeError
        If it is no frame.

    """
    import pyarrow as pa

    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    import narwhals.stable.v2 as nw

    try:
        return nw.from_native(frame, eager_only=True).to_arrow()
    except TypeError as error:
        raise TypeError(
            f"rows must be a frame (Arrow, pandas, polars, a DuckDB relation), got {shown_kind(frame)}; "
            f"{remedy_for(frame)}"
        ) from error


def remedy_for(thing: Any) -> str:
    """Return how something that is no frame becomes one."""
    if isinstance(thing, list | dict):
        return "learn_one takes a dict"
    if hasattr(thing, "collect"):
        return "it holds no rows yet: frame.collect()"
    return "give its columns names: pandas.DataFrame(X)" if hasattr(thing, "shape") else "convert it with pyarrow.table"


def shown_kind(thing: Any) -> str:
    """Return what a thing is, in the words of a message."""
    kind = type(thing)
    return f"a {kind.__name__}" if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def pandas_batch(frame: Any) -> Any:
    """Return a pandas frame as one Arrow record batch."""
    import pyarrow as pa

    try:
        arrays = [pa.array(frame.iloc[:, place], from_pandas=True) for place in range(frame.shape[1])]
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"a column must hold one type of value: {error}; convert it or drop it") from error
    flat = [array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array for array in arrays]
    return pa.RecordBatch.from_arrays(flat, names=[str(name) for name in frame.columns])


def one_batch(table: Any) -> Any:
    """Return an Arrow table as one record batch, and a record batch as it is."""
    import pyarrow as pa

    if isinstance(table, pa.RecordBatch):
        return table
    table = table.combine_chunks()
    batches = table.to_batches()
    if batches:
        return batches[0]
    return pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in table.schema.types], schema=table.schema)


def from_matrix(names: list[Hashable], matrix: NDArray[np.float64], features: Features, learn: bool) -> Rows:
    """Return a numeric matrix as rows, its columns in the learner's order."""
    columns = np.array([features.find(name) for name in names], dtype=np.int64)
    if learn and (columns < 0).any():
        new = [NumberColumn(names[j], matrix[:, j]) for j in np.flatnonzero(columns < 0)]
        add_in_order(new, features)
        columns = np.array([features.find(name) for name in names], dtype=np.int64)
    if len(columns) and not (len(np.unique(columns)) == len(columns) and columns[0] >= 0 and columns.min() >= 0):
        if len(np.unique(columns[columns >= 0])) < (columns >= 0).sum():
            return from_columns([NumberColumn(n, matrix[:, j]) for j, n in enumerate(names)], len(matrix), features)
        kept = np.flatnonzero(columns >= 0)
        names, columns, matrix = [names[j] for j in kept], columns[kept], np.ascontiguousarray(matrix[:, kept])
    if (np.diff(columns) < 0).any():
        order = np.argsort(columns)
        names, columns, matrix = [names[j] for j in order], columns[order], np.ascontiguousarray(matrix[:, order])
    prefix = bool((columns == np.arange(len(columns))).all())
    return Rows(names, columns, matrix, None, prefix)


def add_in_order(columns: list[Any], features: Features) -> None:
    """Assign columns to new features, by the row they first appear in, and by name within a row."""
    if not features.grows:
        return
    arrivals: dict[int, list[Hashable]] = {}
    for column in columns:
        for row, name in column.arrivals(features):
            arrivals.setdefault(row, []).append(name)
    for row in sorted(arrivals):
        features.add(arrivals[row])


def from_columns(columns: list[Any], num_rows: int, features: Features) -> Rows:
    """Return typed columns as CSR rows."""
    indptr, indices, values = assemble([column.entries(features) for column in columns], num_rows, features.grows)
    return Rows(NumericNames(columns), indices, values, indptr, False)
