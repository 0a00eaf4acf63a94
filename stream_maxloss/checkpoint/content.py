"""What a checkpoint holds, in memory."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ARRAY_DTYPES", "Content", "LinkedFile", "Origin", "State", "join_state", "require_finite", "split_state"]

State = dict[str, Any]
"""Flat state of an estimator: name -> `numpy.ndarray` or JSON-able value; parts of parts have dotted names."""

ARRAY_DTYPES = ("float64", "float32", "int64", "int32", "uint64", "uint8", "bool")
"""The types of array that a checkpoint can hold."""


class LinkedFile(NamedTuple):
    """A file that is on the disk for good and never changes: checkpoints share it by hard links.

    Parameters
    ----------
    path
        Where it lies.
    bytes, sha256
        Its length, and the hexadecimal digest of its bytes.

    """

    path: Path
    bytes: int
    sha256: str

    def link_to(self, goal: Path) -> None:
        """Link the file under another name, or copy it where a link cannot be made, and force it to disk."""
        try:
            os.link(self.path, goal)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EMLINK):
                raise
            shutil.copyfile(self.path, goal)
            with goal.open("rb") as file:
                os.fsync(file.fileno())


@dataclass(frozen=True)
class Origin:
    """Where a loaded checkpoint comes from. The store writes it; nothing but `seq` decides anything.

    Parameters
    ----------
    seq
        Its sequence number.
    parent_seq
        The checkpoint that the run was loaded from or saved before this one, None for the first.
    run_id, libraries, format_version
        The run and the versions of the libraries that wrote it, and the format it was written in.
    created_at
        When, by the clock of that machine, in ISO 8601. For people; a clock can go backwards.

    """

    seq: int
    parent_seq: int | None
    run_id: str
    created_at: str
    libraries: Mapping[str, str]
    format_version: int


@dataclass(eq=False)
class Content:
    """Everything that one checkpoint holds.

    Parameters
    ----------
    arrays
        Name -> array of one of `ARRAY_DTYPES`, any shape, empty ones too. One safetensors file.
    tables
        Name -> `pyarrow.Table`: row windows, lists of names. One Arrow IPC file each.
    values
        Name -> anything that JSON can express, infinities and tuples included. One JSON file.
    blobs
        Name -> pickle. Written and read only with permission, never opened by the store.
    files
        Name -> file of many models that is linked and not read: its records have checksums of their own.
    finite
        Names of the arrays that must not hold NaN or an infinity; checked when saved and when loaded.
    sources
        Source -> its position: the next unread record of each partition.
    outputs
        Output file -> its length in bytes at this instant. A reader must not truncate a file for this entry alone: only
        one that its own user named as an output.
    counters
        Name -> number of rows seen, learned, bad and so on.
    origin
        Where it was loaded from; None for what was not loaded. Ignored when saved.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.checkpoint import Content
    >>> content = Content(counters={"seen": 1000})
    >>> content.put_state("model", {"weights": np.array([0.5, -1.0]), "rounds": 7, "scaler.count": 3.0})
    >>> content.values
    {'model': {'rounds': 7, 'scaler.count': 3.0}}
    >>> content.take_state("model")
    {'weights': array([ 0.5, -1. ]), 'rounds': 7, 'scaler.count': 3.0}

    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    tables: dict[str, pa.Table] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, LinkedFile] = field(default_factory=dict)
    finite: list[str] = field(default_factory=list)
    sources: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    origin: Origin | None = None

    def put_state(self, name: str, state: State, may_be_infinite: Iterable[str] = ()) -> None:
        """Store the state of an estimator under `name`; its float arrays must be finite unless listed."""
        arrays, values = split_state(state)
        exempt = set(may_be_infinite)
        for key, array in arrays.items():
            self.arrays[f"{name}/{key}"] = array
            if array.dtype.kind == "f" and key not in exempt:
                self.finite.append(f"{name}/{key}")
        self.values[name] = values

    def take_state(self, name: str) -> State:
        """Return the state that `put_state` stored under `name`, which must be there."""
        prefix = f"{name}/"
        arrays = {key.removeprefix(prefix): array for key, array in self.arrays.items() if key.startswith(prefix)}
        return join_state(arrays, self.values[name])


def split_state(state: State) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Split a flat state into arrays of `ARRAY_DTYPES` and JSON-able values; refuse other arrays, and other names."""
    arrays: dict[str, np.ndarray] = {}
    values: dict[str, Any] = {}
    for name, value in state.items():
        if type(name) is not str:
            raise TypeError(f"state must have string names, got {name!r}")
        if isinstance(value, np.ndarray):
            if value.dtype.name not in ARRAY_DTYPES:
                raise TypeError(
                    f"state[{name!r}] must be an array of {', '.join(ARRAY_DTYPES)}, got {value.dtype}; "
                    "convert it, or keep text as a list of strings"
                )
            arrays[name] = value
        else:
            values[name] = value
    return arrays, values


def join_state(arrays: Mapping[str, np.ndarray], values: Mapping[str, Any]) -> State:
    """Undo `split_state`; a name that is both an array and a value is a ValueError."""
    for name in arrays:
        if name in values:
            raise ValueError(f"state must have each name once, got {name!r} as an array and as a value")
    return {**arrays, **values}


def require_finite(content: Content) -> None:
    """Raise ValueError if an array that must be finite is missing, or naming the first element that is not finite."""
    for name in content.finite:
        if name not in content.arrays:
            raise ValueError(f"array {name!r} must be there, since it is listed as finite")
        array = content.arrays[name]
        if not np.isfinite(array).all():
            place = int(np.flatnonzero(~np.isfinite(array))[0])
            raise ValueError(f"array {name!r} must be finite, got {array.ravel()[place]} at element {place}")
