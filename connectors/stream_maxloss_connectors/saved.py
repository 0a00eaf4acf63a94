"""Whether positions of sources and sinks can be ones that were saved, told without opening what they are of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_maxloss_connectors.files.paths import STDIN
from stream_maxloss_connectors.positions import (
    check_entry,
    check_file,
    check_followed,
    is_count,
    is_plain,
    is_text,
    or_none,
)
from stream_maxloss_connectors.schemas import decode_schema

__all__ = ["check_saved_sink", "check_saved_source"]


def check_saved_source(uri: str, position: Any) -> None:
    """Raise `SourceError` unless a position can be one of a source.

    Parameters
    ----------
    uri
        What the user calls the source. Positions of sources that other packages add, or that were handed over as
        objects (`<...>`), are known to those alone.
    position
        What a checkpoint says.

    Examples
    --------
    >>> from stream_maxloss_connectors.saved import check_saved_source
    >>> check_saved_source("kafka://localhost:9092/orders", {"0": {"offset": -3}})
    Traceback (most recent call last):
    ...
    stream_maxloss.errors.SourceError: orders[0]: the saved position must have a possible 'offset', got -3; ...

    """
    check_entry(uri, position)
    if uri.startswith("kafka://"):
        from stream_maxloss_connectors.kafka.topic_facts import check_position

        check_position(uri.rpartition("/")[2], position)
        _check_schema(position.get("_topic", {}))
    elif _names_files(uri):
        for name, entry in position.items():
            if is_plain(entry):
                check_file(name, entry, name == STDIN)
            else:
                check_followed(name, entry)
            _check_schema(entry)


def check_saved_sink(uri: str, position: Any) -> None:
    """Raise `SourceError` unless a position can be one of a sink: a file, a directory of parts, or a topic."""
    check_entry(uri, position)
    if uri.startswith("kafka://"):
        from stream_maxloss_connectors.kafka.rows import unpack_rows

        check_entry(uri, position, written=is_count)
        if "id" in position:
            check_entry(uri, position, id=is_text, committed=is_count)
            unpack_rows(position, uri)
    elif _names_files(uri):
        length = "parts" if "parts" in position else "length"
        check_entry(uri, position, **{length: is_count, "schema": or_none(is_text)})
        _check_schema(position)


def _names_files(uri: str) -> bool:
    return uri.startswith("file://") or not ("://" in uri or uri.startswith("<"))


def _check_schema(entry: Mapping[str, Any]) -> None:
    if entry.get("schema") is not None:
        decode_schema(entry["schema"])
