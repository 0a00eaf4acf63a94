"""What the schema of a record batch says of its columns, read once for a stream of batches alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Heading", "Order", "heading_of"]


class Order(NamedTuple):
    """Which columns of a record batch a learner reads, and in which order.

    Parameters
    ----------
    found
        The learner's column of each column of the batch, or -1.
    places
        Those columns of the batch that the learner knows, in the learner's order.
    columns
        The learner's column of each of them, ascending.
    names
        Their names.
    is_distinct
        Whether no two share a column.

    """

    found: list[int]
    places: NDArray[np.int64]
    columns: NDArray[np.int64]
    names: list[Hashable]
    is_distinct: bool


class Heading:
    """Names and kinds of the columns of record batches.

    Parameters
    ----------
    schema
        What they are read from.

    """

    def __init__(self, schema: Any) -> None:
        import pyarrow as pa

        kinds = schema.types
        wide = pa.float64()
        self.schema = schema
        self.names: list[Hashable] = list(schema.names)
        # Whether there are columns and all hold numbers or booleans; and which of them kernels read where they lie.
        self.is_numeric = bool(kinds) and all(is_number(kind) for kind in set(kinds))
        self.is_wide = np.array([kind == wide for kind in kinds], dtype=bool)
        self._order: Order | None = None

    def order(self, find: Callable[[Hashable], int]) -> Order:
        """Return the order for a learner with this map of names to columns: the last one, if it is still true."""
        found = [find(name) for name in self.names]
        order = self._order
        if order is None or order.found != found:
            order = self._order = make_order(found, self.names)
        return order


def make_order(found: list[int], names: list[Hashable]) -> Order:
    """Return the order that follows from the learner's column of each name."""
    known = np.array(found, dtype=np.int64)
    places = np.argsort(known, kind="stable")[np.count_nonzero(known < 0) :]
    columns = known[places]
    distinct = not bool((columns[1:] == columns[:-1]).any())
    return Order(found, places, columns, [names[place] for place in places.tolist()], distinct)


# The last one. Reading a schema costs 0.5 us a column, as much as learning a few dozen rows of it; comparing two that
# are alike costs nothing, whatever their width.
_latest: list[Heading] = []


def heading_of(batch: Any) -> Heading:
    """Return the heading of a record batch."""
    schema = batch.schema
    # One look, so that another thread can put a new one in place at any time.
    for heading in _latest[:1]:
        if heading.schema.equals(schema):
            return heading
    heading = Heading(schema)
    _latest[:] = [heading]
    return heading


def is_number(kind: Any) -> bool:
    """Tell whether an Arrow type is a number or a boolean that a cast to float64 takes."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))
