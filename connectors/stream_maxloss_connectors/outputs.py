"""Outputs that are also input or other outputs: writing them would destroy the source, or feed it with itself."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

from stream_maxloss.errors import UsageError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.base import Sink, Source
from stream_maxloss_connectors.files.paths import is_same_file

__all__ = ["is_same_output", "refuse_clashing_outputs", "refuse_outputs_that_are_read"]

Output = Sink | BadRecords | Path | None

_OF_A_CHECKPOINT = ("LOCK", "ckpt-000000000001/manifest.json", "ckpt-000000000001/window.arrow")


def refuse_outputs_that_are_read(source: Source, outputs: Mapping[str, Output]) -> None:
    """Raise `UsageError` if something is to be written that the source reads, or would pick up later.

    To be called before any of them is opened: a sink that is opened anew empties its file.

    Parameters
    ----------
    source
        What is read.
    outputs
        What the user calls an output, and the output; None for one that is not used.

    Raises
    ------
    UsageError
        Which names the output and the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from stream_maxloss_connectors import open_sink, open_source, refuse_outputs_that_are_read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "day.csv")
    ...     _ = path.write_text("x,y" + chr(10) + "1,2" + chr(10))
    ...     refuse_outputs_that_are_read(open_source(path), {"predictions": open_sink(path)})
    Traceback (most recent call last):
    ...
    stream_maxloss.errors.UsageError: predictions must not be written to what is read, got ...; choose another file

    """
    for name, output in outputs.items():
        for path in _files(output):
            if source.reads(path):
                raise UsageError(f"{name} must not be written to what is read, got {path}; choose another file")


def refuse_clashing_outputs(
    outputs: Mapping[str, Output], checkpoints: Path | None = None, source: Source | None = None
) -> None:
    """Raise `UsageError` if two outputs are one file, one lies among the checkpoints, or these would be read.

    Parameters
    ----------
    outputs
        As for `refuse_outputs_that_are_read`.
    checkpoints
        The directory of checkpoints, or None.
    source
        What is read, if checkpoints are to be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from stream_maxloss_connectors import refuse_clashing_outputs
    >>> refuse_clashing_outputs({"predictions": Path("out/p.jsonl"), "dead letters": Path("out/../out/p.jsonl")})
    Traceback (most recent call last):
    ...
    stream_maxloss.errors.UsageError: dead letters must not be written to predictions, got out/p.jsonl; choose ...

    """
    found = [(name, path) for name, output in outputs.items() for path in _files(output)]
    for (name, path), (other, file) in combinations(found, 2):
        if name != other and is_same_file(path, file):
            raise UsageError(f"{other} must not be written to {name}, got {path}; choose another file")
    if checkpoints is None:
        return
    for name, path in found:
        if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(checkpoints)):
            raise UsageError(f"{name} must not be written among the checkpoints, got {path}; choose another directory")
    if source is not None and any(source.reads(checkpoints / file) for file in _OF_A_CHECKPOINT):
        raise UsageError(f"checkpoints must not lie where the source would find them, got {checkpoints}; move them")


def is_same_output(one: str, other: str) -> bool:
    """Return whether two addresses of sinks mean the same place, however rows are delivered there.

    Examples
    --------
    >>> from stream_maxloss_connectors import is_same_output
    >>> is_same_output("kafka://a:1/t?key=row", "kafka://a:1/t?delivery=at-least-once&key=row")
    True

    """
    return _place(one) == _place(other)


def _place(uri: str) -> str:
    return re.sub(r"[?&]delivery=[a-z-]*(?=&|$)", "", uri).replace("&", "?")


def _files(output: Output) -> list[Path]:
    if isinstance(output, BadRecords):
        output = output.path
    if isinstance(output, Path):
        return [output]
    return [] if output is None else output.files()
