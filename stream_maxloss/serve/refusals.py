"""Rows that were not learned, and why."""

from __future__ import annotations

from stream_maxloss.errors import DecodeError
from stream_maxloss.serve.log_source import sequence_of
from stream_maxloss_connectors import BadRecords

__all__ = ["Refusals"]


class Refusals(BadRecords):
    """A policy that tells clients what is wrong with their rows, and leaves other rows to the policy of the user.

    Parameters
    ----------
    others
        What to do with bad records of a source.

    """

    def __init__(self, others: BadRecords) -> None:
        super().__init__(others.policy, others.path, others.limit)
        self.reasons: dict[int, str] = {}

    def handle(self, error: DecodeError) -> None:
        """Note the reason for the client, or do as the user says."""
        sequence = sequence_of(error.address)
        if sequence is None:
            super().handle(error)
            return
        self.count += 1
        self.reasons.setdefault(sequence, error.reason)

    def take(self, first: int, last: int) -> dict[int, str]:
        """Return the reasons of the rows `first..last`, counted from `first`, and forget them."""
        found = sorted(number for number in self.reasons if first <= number < last) if self.reasons else []
        return {number - first: self.reasons.pop(number) for number in found}
