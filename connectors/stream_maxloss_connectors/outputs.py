"""Outputs that are also input: writing them would destroy the source, or feed it with itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from stream_maxloss.errors import UsageError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.base import Sink, Source

__all__ = ["is_same_output", "refuse_outputs_that_are_read"]


def refuse_outputs_that_are_read(source: Source, outputs: Mapping[str, Sink | BadRecords | None]) -> None:
    """Raise `UsageError` if something is to be written that the source reads, or would pick up later.

    To be called before any of them is opened: a sink that is opened anew empties its file.

    Parameters
    ----------
    source
        What is read.
    outputs
        What the user calls an output, and the output; None for one that is not used.

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
        for path in () if output is None else _files(output):
            if source.reads(path):
                raise UsageError(f"{name} must not be written to what is read, got {path}; choose another file")


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


def _files(output: Sink | BadRecords) -> list[Path]:
    if isinstance(output, BadRecords):
        return [] if output.path is None else [output.path]
    return output.files()
