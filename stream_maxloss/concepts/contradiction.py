"""What a realisable learner does with a row that no concept explains."""

from __future__ import annotations

from typing import Literal, get_args

from stream_maxloss.errors import StreamMaxlossError

__all__ = ["ContradictionError", "OnContradiction", "check_on_contradiction"]

OnContradiction = Literal["raise", "reset", "keep"]


class ContradictionError(StreamMaxlossError, ValueError):
    """The rows seen so far agree with no concept of the class, so no mistake bound holds.

    Parameters
    ----------
    row
        How many rows the learner had seen with the contradicting one, counted from 1.
    reason
        What the row said and what the remaining concepts said.

    Examples
    --------
    >>> from stream_maxloss.concepts import ContradictionError
    >>> raise ContradictionError(7, "label True, but both remaining concepts say False")
    Traceback (most recent call last):
    ...
    stream_maxloss.concepts.contradiction.ContradictionError: no concept is consistent after row 7: ...

    """

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(
            f"no concept is consistent after row {row}: {reason}; "
            "pass on_contradiction='reset' or 'keep' if the stream is noisy or drifts"
        )
        self.row = row
        self.reason = reason

    def __reduce__(self) -> tuple[type[ContradictionError], tuple[int, str]]:
        # The default rebuilds from the finished message and would miss an argument.
        return type(self), (self.row, self.reason)


def check_on_contradiction(policy: str) -> None:
    """Refuse a policy that does not exist."""
    if policy not in get_args(OnContradiction):
        raise ValueError(f"on_contradiction must be one of {get_args(OnContradiction)}, got {policy!r}")
