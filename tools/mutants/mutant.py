"""One change of the source."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Mutant"]


@dataclass(frozen=True)
class Mutant:
    """A change of one line that alters what is computed.

    Parameters
    ----------
    file
        The file, from the folder `stream_maxloss`.
    before, after
        What is replaced, where it first occurs, and by what.
    tests
        The tests that must notice, from the folder `tests`.
    equivalent
        Why no test can notice, if none can.

    """

    file: str
    before: str
    after: str
    tests: str
    equivalent: str = ""
