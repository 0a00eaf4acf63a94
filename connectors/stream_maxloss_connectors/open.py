"""From what a user writes to a source or a sink: a table of schemes, and entry points for other packages."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.base import Sink, Source
from stream_maxloss_connectors.schemas import select

__all__ = ["open_sink", "open_source", "sink_class", "source_class"]

SOURCES = {"kafka": "kafka:KafkaSource", "file": "files:FileSource", "followed file": "follow:FollowedSource"}
"""Scheme -> module of this package, and the class in it."""

SINKS = {"kafka": "kafka:KafkaSink"}
"""Scheme -> module of this package, and the class in it."""

FILE_SINKS = {
    "arrows": "files.sinks:IpcStreamSink",
    "csv": "files.sinks:CsvSink",
    "jsonl": "files.sinks:JsonlSink",
    "parquet": "files.parquet_sink:ParquetSink",
    "tsv": "files.sinks:TsvSink",
}
"""Format of a file to write -> module of this package, and the class in it."""

_SINK_ENDINGS = {"ndjson": "jsonl", "json": "jsonl", "tab": "tsv", "ipc": "arrows"}
_CANNOT_APPEND = ("arrow", "feather")

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
        given), `-` for standard input, `kafka://host:port/topic`, or an address whose scheme another package adds
        (see `source_class`). The ending of the name tells the format: `.csv .tsv .jsonl .ndjson .svm .svmlight
        .libsvm`, each also with `.gz` or `.zst` behind it, `.parquet .pq .arrow .arrows .ipc .feather`. Standard input
        can be reopened at a position if the same data is fed again from its beginning: what was read is passed, and
        other data is refused.
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
        What to do with malformed records; None stops at the first.
    options
        For the format: `CsvDecoder`, `JsonDecoder` and `SvmlightDecoder` say which there are, `TextFormat` has
        `block_bytes` and `threads`, `ParquetFormat` has `batch_rows`. For Kafka: those of `KafkaSource`. In general
        those that `source_class(uri).traits.options` names.

    Raises
    ------
    SourceError
        If there is no such file, or it is not known how to read it.
    MissingExtraError
        If reading from Kafka is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from stream_maxloss_connectors import open_source
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
    kind = source_class(uri, follow)
    given: dict[str, Any] = {
        "schema": None if schema is None else select(schema, columns, "schema"),
        "columns": columns,
        # What is not given here may be given in the address.
        "format": None if format == "auto" else format,
        "follow": (follow and not kind.traits.follows) or None,
        **options,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if "bad_records" in kind.traits.options:
        given["bad_records"] = BadRecords() if bad_records is None else bad_records
    return kind.from_uri(_addresses(uri), **_known(given, kind.traits.options, _scheme(uri)))


def open_sink(uri: PathLike, format: str | None = None, **options: Any) -> Sink:
    """Return the sink that a path or URI names; the caller still has to `open` it at a position or anew.

    Parameters
    ----------
    uri
        A path whose ending gives the format (`.jsonl`, `.csv`, `.tsv`, `.parquet`, `.arrows`),
        `kafka://host:port/topic`, or an address whose scheme another package adds (see `sink_class`).
    format
        The format where the ending does not give it.
    options
        Further arguments of the sink.

    Raises
    ------
    ValueError
        If the scheme, the ending or the format is not known.
    MissingExtraError
        For Kafka without its extra.

    Examples
    --------
    >>> from stream_maxloss_connectors import open_sink
    >>> type(open_sink("predictions.jsonl")).__name__
    'JsonlSink'
    >>> open_sink("predictions.feather")
    Traceback (most recent call last):
    ...
    ValueError: predictions.feather: a sink must be a format that can be appended to, got 'feather'; use .arrows, ...

    """
    kind = sink_class(uri, format)
    return kind.from_uri(_without_file_scheme(os.fspath(uri)), **_known(options, kind.options, _scheme(uri)))


def source_class(uri: PathLike | Sequence[PathLike], follow: bool = False) -> type[Source]:
    """Return the class that reads an address, whose `traits` say what it can do.

    Another package adds a scheme with an entry point; `open_source`, the River streams and the command `maxloss` then
    know it:

        [project.entry-points."stream_maxloss.sources"]
        redis = "their_package:RedisSource"

    Parameters
    ----------
    uri
        As for `open_source`.
    follow
        Whether files are to be followed.

    Raises
    ------
    SourceError
        If no installed package knows the scheme, or the one that does cannot be loaded.
    ValueError
        If several addresses are given where only one can be read.

    Examples
    --------
    >>> from stream_maxloss_connectors import source_class
    >>> source_class("kafka://localhost:9092/orders").traits.gap_policies
    ('fail', 'earliest', 'latest')

    """
    scheme = _scheme(uri)
    name = "followed file" if scheme == "file" and follow else scheme
    kind: type[Source] | None = _find(name, SOURCES, "stream_maxloss.sources", Source)
    if kind is None:
        known = _known_schemes(SOURCES, "stream_maxloss.sources")
        shown = os.fspath(uri) if isinstance(uri, str | os.PathLike) else " ".join(os.fspath(one) for one in uri)
        raise SourceError(
            f"{shown}: address must be a path, {known}, got {scheme}://; install a package that adds it, or fetch the "
            "data first: curl -s URL | maxloss tail - --format csv"
        )
    if not (isinstance(uri, str | os.PathLike) or kind.traits.several or len(uri) == 1):
        raise ValueError(f"a {scheme}:// source must be the only one, got {len(uri)} addresses; read them apart")
    return kind


def sink_class(uri: PathLike, format: str | None = None) -> type[Sink]:
    """Return the class that writes to an address; `options` names the arguments that it takes.

    Another package adds a scheme with an entry point in the group `stream_maxloss.sinks`, as for `source_class`.

    Raises
    ------
    ValueError
        If the scheme, the ending or the format is not known.

    """
    text, scheme = os.fspath(uri), _scheme(uri)
    if scheme == "file":
        found: type[Sink] = _load(FILE_SINKS[_sink_format(text, format)])
        return found
    kind: type[Sink] | None = _find(scheme, SINKS, "stream_maxloss.sinks", Sink)
    if kind is None:
        known = _known_schemes(SINKS, "stream_maxloss.sinks")
        raise ValueError(f"{text}: scheme must be file:// or {known}, got {scheme!r}; install a package that adds it")
    return kind


def _sink_format(text: str, format: str | None) -> str:
    name = (format or Path(text).suffix.removeprefix(".")).lower()
    if name in _CANNOT_APPEND:
        raise ValueError(
            f"{text}: a sink must be a format that can be appended to, got {name!r}; use .arrows, the stream form"
        )
    name = _SINK_ENDINGS.get(name, name)
    if name not in FILE_SINKS:
        raise ValueError(f"{text}: the format must be one of {sorted(FILE_SINKS)}, got {name!r}; pass format=")
    return name


def _scheme(uri: PathLike | Sequence[PathLike]) -> str:
    """Return the scheme of an address, `file` for a path; of several, the one that they share."""
    schemes = {_scheme_of(os.fspath(one)) for one in ([uri] if isinstance(uri, str | os.PathLike) else uri)}
    if len(schemes) > 1:
        raise ValueError(f"addresses must have one scheme, got {', '.join(sorted(schemes))}; read them apart")
    return next(iter(schemes), "file")


def _scheme_of(text: str) -> str:
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", text)
    return match[1].lower() if match else "file"


def _addresses(uri: PathLike | Sequence[PathLike]) -> Any:
    if isinstance(uri, str | os.PathLike):
        return _without_file_scheme(os.fspath(uri))
    texts = [_without_file_scheme(os.fspath(one)) for one in uri]
    return texts if _scheme(uri) == "file" else texts[0] if len(texts) == 1 else texts


def _without_file_scheme(text: str) -> str:
    return re.sub(r"^file://", "", text, flags=re.IGNORECASE)


def _known(given: Mapping[str, Any], options: frozenset[str], scheme: str) -> Mapping[str, Any]:
    # Which options a file takes depends on its format, and is checked there.
    for name in () if scheme == "file" else sorted(set(given) - options):
        takes = ", ".join(sorted(options)) or "none"
        raise TypeError(f"options for {scheme}:// must be among {takes}, got {name!r}")
    return given


def _find(scheme: str, table: Mapping[str, str], group: str, base: type) -> Any:
    """Return the class of a scheme: one of ours, or the one that an entry point names; None if there is none."""
    if scheme in table:
        return _load(table[scheme])
    entries = list(entry_points(group=group, name=scheme))
    if not entries:
        return None
    places = sorted({entry.value for entry in entries})
    if len(places) > 1:
        raise SourceError(f"{scheme}:// must be added by one package, got {' and '.join(places)}; remove one of them")
    try:
        kind = entries[0].load()
    except (ImportError, AttributeError) as error:
        raise SourceError(f"{scheme}:// must load from {places[0]}, got: {error}; repair that package") from error
    if not (isinstance(kind, type) and issubclass(kind, base)):
        raise SourceError(f"{scheme}:// must be a subclass of {base.__name__}, got {kind!r}; repair that package")
    return kind


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"stream_maxloss_connectors.{module}"), name)


def _known_schemes(table: Mapping[str, str], group: str) -> str:
    names = [*(name for name in table if " " not in name), *sorted(entry_points(group=group).names)]
    return ", ".join(f"{name}://" for name in names)
