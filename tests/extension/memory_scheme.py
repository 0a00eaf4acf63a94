"""A third-party source: `maxloss tail memory://200` reads 200 rows that are made in memory.

Its `pyproject.toml` declares the scheme:

    [project.entry-points."stream_maxloss.sources"]
    memory = "memory_scheme:SquaresSource"
"""

from typing import Any

from stream_maxloss_connectors import SourceTraits
from stream_maxloss_connectors.testing import MemorySource


class SquaresSource(MemorySource):
    """Numbers, and whether their squares exceed a bound."""

    traits = SourceTraits(options=frozenset(["bound"]))

    def __init__(self, uri: str, bound: float = 0.25) -> None:
        numbers = [(7 * i % 101) / 101 for i in range(int(uri.removeprefix("memory://")))]
        rows: list[dict[str, Any]] = [{"x": x, "large": x * x > bound} for x in numbers]
        super().__init__(rows)
