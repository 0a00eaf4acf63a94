"""Find the sink for a path or URI."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from stream_maxloss.errors import MissingExtraError
from stream_maxloss_connectors.base import Sink
from stream_maxloss_connectors.file_sinks import CsvSink, IpcStreamSink, JsonlSink
from stream_maxloss_connectors.parquet_sink import ParquetSink

__all__ = ["open_sink"]

_SINKS: dict[str, Callable[..., Sink]] = {
    "jsonl": JsonlSink,
    "csv": CsvSink,
    "tsv": partial(CsvSink, delimiter="\t"),
    "parquet": ParquetSink,
    "arrows": IpcStreamSink,
}
_FORMATS = {"ndjson": "jsonl", "json": "jsonl", "tab": "tsv", "ipc": "arrows"}
_CANNOT_APPEND = {"arrow", "feather"}


def open_sink(uri: str | os.PathLike[str], format: str | None = None, **options: Any) -> Sink:
    """Make the sink that a path or URI names; the caller still has to `open` it at a position or anew.

    Parameters
    ----------
    uri
        A path whose ending gives the format (`.jsonl`, `.csv`, `.tsv`, `.parquet`, `.arrows`), or
        `kafka://host:port/topic`.
    format
        The format where the ending does not give it.
    options
        Further arguments of the sink.

    Raises
    ------
    ValueError
        If the ending or the format is not known.
    MissingExtraError
        For Kafka without its extra.

    Examples
    --------
    >>> from stream_maxloss_connectors.open_sink import open_sink
    >>> type(open_sink("predictions.jsonl")).__name__
    'JsonlSink'
    >>> open_sink("predictions.feather")
    Traceback (most recent call last):
    ...
    ValueError: predictions.feather: a sink must be a format that can be appended to, got 'feather'; use .arrows, ...

    """
    text = os.fspath(uri)
    scheme, separator, _ = text.partition("://")
    if separator and scheme == "kafka":
        return _open_kafka(text, **options)
    if separator and scheme != "file":
        raise ValueError(f"{text}: the scheme must be file or kafka, got {scheme!r}")
    path = text.removeprefix("file://")
    name = (format or Path(path).suffix.removeprefix(".")).lower()
    if name in _CANNOT_APPEND:
        raise ValueError(
            f"{text}: a sink must be a format that can be appended to, got {name!r}; use .arrows, the stream form"
        )
    name = _FORMATS.get(name, name)
    if name not in _SINKS:
        raise ValueError(f"{text}: the format must be one of {sorted(_SINKS)}, got {name!r}; pass format=")
    return _SINKS[name](path, **options)


def _open_kafka(uri: str, **options: Any) -> Sink:
    try:
        kafka = importlib.import_module("stream_maxloss_connectors.kafka.sink")
    except ModuleNotFoundError as error:
        if error.name not in ("confluent_kafka", "fastavro"):
            raise
        raise MissingExtraError("writing to Kafka", "kafka") from error
    sink: Sink = kafka.KafkaSink.from_uri(uri, **options)
    return sink
