"""What the ending of a file's name stands for, and what CSV calls missing."""

from __future__ import annotations

from pathlib import PurePath

__all__ = [
    "COMPRESSIONS",
    "CSV_NULLS",
    "ENDINGS",
    "FORMATS",
    "TEXT_FORMATS",
    "check_format",
    "split_suffix",
    "unknown_format",
]

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

NAMED_FORMATS = {".json": "jsonl", ".txt": "csv", ".dat": "csv"}
"""Endings that a file may have which is named itself; in a directory they may be anything."""

OTHER_FILES = {
    (".xlsx", ".xls", ".xlsm", ".ods"): "a spreadsheet; save it as CSV",
    (".zip", ".tar", ".tgz", ".7z", ".rar"): "an archive; unpack it",
    (".bz2", ".xz", ".lz4", ".br"): "compressed in a way that is not read; unpack it, or use gzip or zstd",
    (".pkl", ".pickle", ".joblib"): "pickled, which would run its code; write it with to_parquet",
    (".db", ".sqlite", ".sqlite3", ".duckdb"): "a database; write the table to CSV or Parquet",
    (".avro", ".orc", ".h5", ".hdf5", ".sas7bdat", ".sav", ".dta", ".xml", ".html"): "a format that is not read; "
    "write it as Parquet",
}
"""Endings of files that are no data files for us -> what they are, and what to do."""

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
    return {**NAMED_FORMATS, **FORMATS}.get(ending), compression


def unknown_format(path: str) -> str:
    """Return why a file is not read, and what to do.

    Examples
    --------
    >>> from stream_maxloss_connectors.formats import unknown_format
    >>> unknown_format("sales.xlsx")
    'sales.xlsx: file must be a data file, got a spreadsheet; save it as CSV'

    """
    if path == "-":
        return "standard input must come with its format, got none; add --format csv or jsonl (format='csv')"
    for endings, what in OTHER_FILES.items():
        if path.lower().endswith(endings):
            return f"{path}: file must be a data file, got {what}"
    return (
        f"{path}: name must end in {', '.join((*FORMATS, *NAMED_FORMATS))} (text also with .gz or .zst), "
        f"got {PurePath(path).suffix or PurePath(path).name!r}; or say what it is: --format csv (format='csv')"
    )


def check_format(format: str, *others: str) -> None:
    """Raise `ValueError` unless the format is `auto`, one of `FORMATS`, or one of the others."""
    kinds = {*FORMATS.values(), *others}
    if format not in ("auto", *kinds):
        raise ValueError(f"format must be 'auto' or one of {', '.join(sorted(kinds))}, got {format!r}")
