"""What the ending of a file's name stands for, and what CSV calls missing."""

from __future__ import annotations

from pathlib import PurePath

__all__ = ["COMPRESSIONS", "CSV_NULLS", "ENDINGS", "FORMATS", "TEXT_FORMATS", "check_format", "split_suffix"]

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

TEXT_FORMATS = ("csv", "tsv", "jsonl", "svmlight")

ENDINGS = (
    *FORMATS,
    *(ending + other for ending, kind in FORMATS.items() if kind in TEXT_FORMATS for other in COMPRESSIONS),
)
"""Endings of all files that can be read."""

CSV_NULLS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"),
)
"""Cells that mean "missing" in columns that are not text, in files and in Kafka messages. It is pyarrow's list, written
out so that another version of pyarrow reads the same rows from the same bytes."""


def split_suffix(path: str) -> tuple[str | None, str | None]:
    """Return the format and the compression that the ending of a path stands for, each None if it tells nothing.

    Examples
    --------
    >>> from stream_maxloss_connectors.formats import split_suffix
    >>> split_suffix("day.csv.gz"), split_suffix("day")
    (('csv', 'gzip'), (None, None))

    """
    name = PurePath(path.lower())
    compression = COMPRESSIONS.get(name.suffix)
    ending = name.suffix if compression is None else PurePath(name.stem).suffix
    return FORMATS.get(ending), compression


def check_format(format: str, *others: str) -> None:
    """Raise `ValueError` unless the format is `auto`, one of `FORMATS`, or one of the others."""
    kinds = {*FORMATS.values(), *others}
    if format not in ("auto", *kinds):
        raise ValueError(f"format must be 'auto' or one of {', '.join(sorted(kinds))}, got {format!r}")
