"""How deeply JSON is nested, told before a recursive parser meets it."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from stream_maxloss_connectors.text.lines import Positions, owners, positions

__all__ = ["MAX_NESTING", "deep_records", "is_deep", "nesting_reason"]

MAX_NESTING = 64
"""Lists and objects inside one another, the record itself included. pyarrow's parser calls itself for each, and some
thousand of them overflow the stack, which no handler can catch."""

_OPENING, _CLOSING = b"[{", b"]}"
_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


def is_deep(record: bytes) -> bool:
    r"""Return whether a record is nested more deeply than `MAX_NESTING`; brackets inside texts do not count.

    Examples
    --------
    >>> from stream_maxloss_connectors.text.nesting import is_deep
    >>> is_deep(b'{"a": ' + b"[" * 64 + b"]" * 64 + b"}"), is_deep(b'{"a": "' + b"[" * 64 + b'"}')
    (True, False)

    """
    if record.count(b"{") + record.count(b"[") <= MAX_NESTING:
        return False
    data = np.frombuffer(_TEXT.sub(b"", record), np.uint8)
    steps = _among(data, _OPENING).astype(np.int64) - _among(data, _CLOSING)
    return bool(steps.cumsum().max(initial=0) > MAX_NESTING)


def deep_records(block: bytes, starts: Positions, ends: Positions, objects: int) -> list[int]:
    """Return which records of a block are nested too deeply, at the price of two counts where all are flat.

    Parameters
    ----------
    block
        The text.
    starts, ends
        Where its records lie.
    objects
        How many of them are known to hold a bracket at least.

    """
    if block.count(b"{") + block.count(b"[") - objects < MAX_NESTING:
        # Each of the objects has one bracket of its own, so none can have enough of the others.
        return []
    places = np.concatenate([positions(block, byte, 0, len(block)) for byte in _OPENING])
    counts = np.bincount(owners(starts, places), minlength=len(starts))
    suspects = np.flatnonzero(counts > MAX_NESTING).tolist()
    return [index for index in suspects if is_deep(block[starts[index] : ends[index]])]


def nesting_reason() -> str:
    """Return what is wrong with a record that is nested too deeply."""
    return f"record must be nested at most {MAX_NESTING} deep, got more; flatten it"


def _among(data: npt.NDArray[np.uint8], pair: bytes) -> npt.NDArray[np.bool_]:
    return (data == pair[0]) | (data == pair[1])
