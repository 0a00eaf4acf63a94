"""From what a user writes to a source."""

from __future__ import annotations

import importlib
import inspect
import os
import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import MissingExtraError, SourceError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.base import Source
from stream_maxloss_connectors.csv_lines import CsvDecoder
from stream_maxloss_connectors.file_source import FileFormat, FileSource
from stream_maxloss_connectors.json_lines import JsonDecoder
from stream_maxloss_connectors.lines import LineDecoder
from stream_maxloss_connectors.paths import expand
from stream_maxloss_connectors.schemas import select
from stream_maxloss_connectors.svmlight_lines import SvmlightDecoder

__all__ = ["COMPRESSIONS", "FORMATS", "make_decoder", "open_source", "split_suffix"]

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
"""Ending of a file's name -> format."""

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
"""Ending of a compressed text file's name -> compression."""

_TEXT_FORMATS = ("csv", "tsv", "jsonl", "svmlight")
_ENDINGS = [
    *FORMATS,
    *(ending + other for ending, kind in FORMATS.items() if kind in _TEXT_FORMATS for other in COMPRESSIONS),
]

PathLike = str | os.PathLike[str]


def open_source(
    uri: PathLike | Sequence[PathLike],
    *,
    format: str = "auto",
    schema: pa.Schema | None = None,
    columns: list[str] | None = None,
    follow: bool = False,
    bad_records: BadRecords | None = None,
    **options: Any,
) -> Source:
    r"""Return the source that a user means; call its `open` before reading.

    Parameters
    ----------
    uri
        A file, a glob or directory of files (read in the order of their names), several of these (read in the order
        given), `-` for standard input, or `kafka://host:port/topic`. The ending of the name tells the format:
        `.csv .tsv .jsonl .ndjson .svm .svmlight .libsvm`, each also with `.gz` or `.zst` behind it,
        `.parquet .pq .arrow .arrows .ipc .feather`. Standard input can be reopened at a position if the same data is
        fed again from its beginning: what was read is passed, and other data is refused.
    format
        `csv`, `tsv`, `jsonl`, `svmlight`, `parquet` or `arrow`, where the name does not tell or standard input is read.
    schema
        Names and types of the columns. None: the first records tell (the first MiB of text, or what a pipe gives at
        first), with whole numbers as float64; a later record that does not fit is bad.
    columns
        Columns to return, in this order; None for all.
    follow
        Go on reading as files grow, are rotated, or come into a directory.
    bad_records
        What to do with records that are no rows; None stops at the first.
    options
        For the format: `CsvDecoder`, `JsonDecoder` and `SvmlightDecoder` say which there are, `TextFormat` has
        `block_bytes` and `threads`, `ParquetFormat` has `batch_rows`. For Kafka: those of `KafkaSource`.

    Raises
    ------
    SourceError
        If there is no such file, or it is not known how to read it.
    MissingExtraError
        If reading from Kafka is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from stream_maxloss_connectors.open import open_source
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "day.csv")
    >>> _ = path.write_text("amount,fraud\n3,false\n1200,true\n")
    >>> source = open_source(path)
    >>> source.open()
    >>> batch = source.next_batch(max_rows=1, timeout=1)
    >>> batch.records.to_pydict()
    {'amount': [3.0], 'fraud': [False]}
    >>> position = source.position()
    >>> source.close()

    A position is where the next row is, whatever happened in between:

    >>> source = open_source(path)
    >>> source.open(position)
    >>> source.next_batch(max_rows=1, timeout=1).records.to_pydict()
    {'amount': [1200.0], 'fraud': [True]}
    >>> source.close()
    >>> folder.cleanup()

    """
    bad = BadRecords() if bad_records is None else bad_records
    wanted = None if schema is None else select(schema, columns, "schema")
    scheme = _scheme(uri)
    if scheme == "kafka":
        # What is not given here may be given in the address.
        given = {"schema": wanted, "columns": columns, "format": None if format == "auto" else format}
        given = {name: value for name, value in given.items() if value is not None}
        return _open_kafka(str(uri), bad_records=bad, **given, **options)
    if scheme is not None and scheme != "file":
        raise SourceError(f"{uri}: scheme must be a path, file:// or kafka://, got {scheme!r}; fetch the data first")
    paths = re.sub(r"^file://", "", str(uri)) if scheme == "file" else uri
    if follow:
        return _open_followed(paths, format=format, schema=wanted, columns=columns, bad_records=bad, **options)
    files = expand(paths, _ENDINGS)
    kind, compression = _detect(files, format)
    return FileSource(files, _make_format(kind, compression, wanted, columns, bad, options), wanted)


def split_suffix(path: str) -> tuple[str | None, str | None]:
    """Return the format and the compression that the ending of a path stands for, each None if it tells nothing."""
    name = PurePath(path.lower())
    compression = COMPRESSIONS.get(name.suffix)
    ending = name.suffix if compression is None else PurePath(name.stem).suffix
    return FORMATS.get(ending), compression


def make_decoder(kind: str, **options: Any) -> LineDecoder:
    """Return the decoder of a text format.

    Parameters
    ----------
    kind
        `csv`, `tsv`, `jsonl` or `svmlight`.
    options
        Of `CsvDecoder`, `JsonDecoder` or `SvmlightDecoder`.

    """
    if kind == "tsv":
        return CsvDecoder(**{"delimiter": "\t", **options})
    decoders: dict[str, Callable[..., LineDecoder]] = {
        "csv": CsvDecoder,
        "jsonl": JsonDecoder,
        "svmlight": SvmlightDecoder,
    }
    if kind not in decoders:
        raise ValueError(f"kind must be one of {', '.join(_TEXT_FORMATS)}, got {kind!r}")
    return decoders[kind](**options)


def _scheme(uri: PathLike | Sequence[PathLike]) -> str | None:
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", uri) if isinstance(uri, str) else None
    return match[1].lower() if match else None


def _detect(files: Sequence[str], format: str) -> tuple[str, str | None]:
    """Return the one format and compression of all files."""
    kinds = set(FORMATS.values()) | {"tsv"}
    if format != "auto" and format not in kinds:
        raise ValueError(f"format must be 'auto' or one of {', '.join(sorted(kinds))}, got {format!r}")
    found: dict[tuple[str, str | None], str] = {}
    for file in files:
        kind, compression = split_suffix(file)
        if format != "auto":
            kind = format
        if kind is None:
            raise SourceError(
                f"{file}: name must end in one of {' '.join(FORMATS)}, text also with .gz or .zst; or give the format"
            )
        if compression is not None and kind not in _TEXT_FORMATS:
            raise SourceError(f"{file}: {kind} must not be compressed as a whole; unpack it, it compresses inside")
        found.setdefault((kind, compression), file)
    if len(found) > 1:
        (first, one), (second, other) = list(found.items())[:2]
        raise SourceError(
            f"files must be of one format, got {one} ({first[0]}) and {other} ({second[0]}); read them apart"
        )
    return next(iter(found))


def _make_format(
    kind: str,
    compression: str | None,
    schema: pa.Schema | None,
    columns: Sequence[str] | None,
    bad: BadRecords,
    options: dict[str, Any],
) -> FileFormat:
    if kind == "parquet":
        from stream_maxloss_connectors.parquet_files import ParquetFormat

        return ParquetFormat(columns, **_known(options, kind, ParquetFormat))
    if kind == "arrow":
        from stream_maxloss_connectors.ipc_files import IpcFormat

        return IpcFormat(columns, **_known(options, kind, IpcFormat))
    from stream_maxloss_connectors.text_files import TextFormat

    reading = {name: options.pop(name) for name in ("block_bytes", "threads") if name in options}
    narrowed = schema is not None or columns is not None
    if kind == "jsonl" and narrowed:
        options.setdefault("unexpected_fields", "ignore")
    decoders = {"jsonl": JsonDecoder, "svmlight": SvmlightDecoder}
    decoder = make_decoder(kind, **_known(options, kind, decoders.get(kind, CsvDecoder)))
    return TextFormat(decoder, bad, columns, not narrowed, compression, **reading)


def _known(options: dict[str, Any], kind: str, owner: Callable[..., Any]) -> dict[str, Any]:
    known = [name for name in inspect.signature(owner).parameters if name != "columns"]
    for name in options:
        if name not in known:
            raise TypeError(f"options for {kind} must be among {', '.join(known) or 'none'}, got {name!r}")
    return options


def _open_kafka(uri: str, **options: Any) -> Source:
    try:
        kafka = importlib.import_module("stream_maxloss_connectors.kafka")
    except ModuleNotFoundError as error:
        if error.name not in ("confluent_kafka", "fastavro"):
            raise
        raise MissingExtraError("reading from Kafka", "kafka") from error
    source: Source = kafka.KafkaSource.from_uri(uri, **options)
    return source


def _open_followed(paths: PathLike | Sequence[PathLike], **options: Any) -> Source:
    follow = importlib.import_module("stream_maxloss_connectors.follow")
    source: Source = follow.FollowedSource(paths, **options)
    return source
