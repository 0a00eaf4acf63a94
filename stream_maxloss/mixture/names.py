"""A feature map of bounded size."""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Iterable

from stream_maxloss.features import FeatureMap, NumberNames

__all__ = ["MOST_COLUMNS", "BoundedFeatureMap"]

MOST_COLUMNS = 1 << 18


class BoundedFeatureMap(FeatureMap):
    """A feature map that grows to a limit; names that come later share the columns of earlier ones, by their hash.

    Parameters
    ----------
    limit
        The largest number of columns.

    Examples
    --------
    >>> from stream_maxloss.mixture.names import BoundedFeatureMap
    >>> features = BoundedFeatureMap(limit=2)
    >>> features.add(["a", "b", "c"])
    >>> features.names, features.find("a"), features.find("c") in (0, 1)
    (['a', 'b'], 0, True)

    """

    def __init__(self, limit: int = MOST_COLUMNS) -> None:
        super().__init__()
        self.limit = limit

    def __getstate__(self) -> dict[str, object]:
        return {**super().__getstate__(), "limit": self.limit}

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        self.limit = int(str(state["limit"]))

    @property
    def grows(self) -> bool:  # type: ignore[override]
        """Whether every name still has a column of its own."""
        return len(self) < self.limit

    def find(self, name: Hashable) -> int:
        """Return the column of a name, or -1."""
        column = self._columns.get(name, -1)
        if column < 0 and len(self._columns) >= self.limit:
            return zlib.crc32(str(name).encode("utf-8", "surrogatepass")) % self.limit
        return column

    def add(self, names: Iterable[Hashable]) -> None:
        """Give columns to the names of one row that have none yet, while there is room."""
        if self.grows:
            super().add(names)
            self.truncate(self.limit)

    def truncate(self, length: int) -> None:
        """Forget the names that were added last, down to `length` of them."""
        if len(self) > length:
            super().truncate(length)
            # Names that were hashed while the map was full may get columns of their own again.
            self._numbers = NumberNames()
