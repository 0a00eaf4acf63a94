"""What a mistyped name was probably meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["closest", "listed"]


def closest(word: str, choices: Iterable[str]) -> str:
    """Return the end of an error message: the nearest name and all there are.

    Examples
    --------
    >>> from stream_maxloss.run.closest import closest
    >>> closest("fruad", ["amount", "fraud"])
    "did you mean 'fraud'? there are amount, fraud"
    >>> closest("y", ["amount", "fraud"])
    'there are amount, fraud'

    """
    names = list(choices)
    folded = {name.lower(): name for name in reversed(names)}
    found = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    hint = f"did you mean {folded[found[0]]!r}? " if found else ""
    return f"{hint}there are {listed(names)}" if names else "there are none"


def listed(names: Iterable[str], most: int = 12) -> str:
    """Return names separated by commas, cut short where there are many."""
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
