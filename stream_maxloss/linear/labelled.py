"""What comes with the rows of a batch, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stream_maxloss.linear.batch_checks import check_length
from stream_maxloss.linear.memory import Floats
from stream_maxloss.machine.pointers import address_of
from stream_maxloss.rows import Rows

__all__ = ["Labelled"]


class Labelled(NamedTuple):
    """The labels and sample weights of some rows, and room for their scores."""

    targets: Floats
    weights: Floats
    scores: Floats

    def part(self, first: int, last: int) -> Labelled:
        """Return what belongs to some of the rows."""
        return Labelled(self.targets[first:last], self.weights[first:last], self.scores[first:last])

    def addresses(self) -> tuple[int, int, int]:
        """Return where the labels, the weights and the scores begin."""
        return address_of(self.targets), address_of(self.weights), address_of(self.scores)

    def split(self, stretches: Iterable[Rows], first: int = 0) -> Iterator[tuple[int, Rows, Labelled]]:
        """Yield each stretch of rows from row `first` on with its first row and what belongs to it.

        Raises
        ------
        ValueError
            If there is not one label per row.

        """
        for rows in stretches:
            last = first + len(rows)
            if last > len(self.targets):
                check_length(last, self.targets)
            yield first, rows, self.part(first, last)
            first = last
        check_length(first, self.targets)
