"""How to read files: by their endings, or as the user says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.files.base import FileFormat
from stream_maxloss_connectors.formats import TEXT_FORMATS, check_format, split_suffix, unknown_format
from stream_maxloss_connectors.text.decoders import check_options, make_decoder

__all__ = ["detect_format", "make_format"]


def detect_format(files: Sequence[str], format: str) -> tuple[str, str | None]:
    """Return the one format and compression of all files.

    Raises
    ------
    ValueError
        If there is no such format.
    SourceError
        If a file's name does not tell its format, or files differ.

    """
    check_format(format)
    found: dict[tuple[str, str | None], str] = {}
    for file in files:
        kind, compression = split_suffix(file)
        if format != "auto":
            kind = format
        if kind is None:
            raise SourceError(unknown_format(file))
        if compression is not None and kind not in TEXT_FORMATS:
            raise SourceError(f"{file}: {kind} must not be compressed as a whole; unpack it, it compresses inside")
        found.setdefault((kind, compression), file)
    if len(found) > 1:
        (first, one), (second, other) = list(found.items())[:2]
        raise SourceError(
            f"files must be of one format, got {one} ({first[0]}) and {other} ({second[0]}); read them apart"
        )
    return next(iter(found))


def make_format(
    kind: str,
    compression: str | None,
    schema: pa.Schema | None,
    columns: Sequence[str] | None,
    bad: BadRecords,
    options: dict[str, Any],
) -> FileFormat:
    """Return what opens files of a format; only its module is loaded.

    Raises
    ------
    TypeError
        If the format does not take an option.

    """
    if kind == "parquet":
        from stream_maxloss_connectors.files.parquet import ParquetFormat

        check_options(options, kind, ParquetFormat)
        return ParquetFormat(columns, **options)
    if kind == "arrow":
        from stream_maxloss_connectors.files.ipc import IpcFormat

        check_options(options, kind, IpcFormat)
        return IpcFormat(columns, **options)
    from stream_maxloss_connectors.files.text import TextFormat

    reading = {name: options.pop(name) for name in ("block_bytes", "threads") if name in options}
    narrowed = schema is not None or columns is not None
    decoder = make_decoder(kind, narrowed, **options)
    return TextFormat(decoder, bad, columns, not narrowed, compression, **reading)
