"""What the schema of a record batch says of its columns, read once for a stream of similar batches."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.features import FeatureMap, HashedFeatureMap

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
    is_complete
        Whether the learner knows all columns of the batch.

    """

    found: list[int]
    places: NDArray[np.int64]
    columns: NDArray[np.int64]
    names: list[Hashable]
    is_distinct: bool
    is_complete: bool


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
        self.is_wide = np.array([kind == wide for kind in kinds], dtype=np.int64)
        self._order: Order | None = None

    def order(self, find: Callable[[Hashable], int], learn_names: Callable[[list[int]], None] | None = None) -> Order:
        """Return the order for a learner with this map of names to columns: the last one, if it is still true.

        Parameters
        ----------
        find
            Returns the column of a name, or -1.
        learn_names
            Called with the learner's column of each name if some have none; they have one afterwards, if they occur.

        """
        found = [find(name) for name in self.names]
        order = self._order
        if order is not None and order.found != found:
            order = None
        if learn_names is not None and (order is None or not order.is_complete) and min(found, default=0) < 0:
            learn_names(found)
            found, order = [find(name) for name in self.names], None
        if order is None:
            order = self._order = make_order(found, self.names)
        return order


def make_order(found: list[int], names: list[Hashable]) -> Order:
    """Return the order that follows from the learner's column of each name."""
    known = np.array(found, dtype=np.int64)
    places = np.argsort(known, kind="stable")[np.count_nonzero(known < 0) :]
    columns = known[places]
    distinct = not bool((columns[1:] == columns[:-1]).any())
    known_names = [names[place] for place in places.tolist()]
    return Order(found, places, columns, known_names, distinct, len(places) == len(names))


def heading_of(batch: Any, features: FeatureMap | HashedFeatureMap) -> Heading:
    """Return the heading of a record batch: the last one of its reader, if the schema is the same.

    Reading a schema costs 0.5 us a column, as much as learning a few dozen rows of it; comparing two that are alike
    costs nothing, whatever their width.
    """
    # One look, so that another thread can put a new one in place at any time.
    heading: Heading | None = features.heading
    if heading is None or not heading.schema.equals(batch.schema):
        heading = features.heading = Heading(batch.schema)
    return heading


def is_number(kind: Any) -> bool:
    """Return whether an Arrow type is a number or a boolean that a cast to float64 takes."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))
