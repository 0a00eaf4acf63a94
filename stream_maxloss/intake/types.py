"""What a user says a column is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stream_maxloss.errors import UsageError

__all__ = ["TYPES", "Wish", "parse_schema"]

TYPES = ("number", "category", "text", "date", "flag", "raw", "none")
"""What a column can be asked to be: `raw` hands it to the model as it comes, `none` leaves it out."""

Wish = tuple[str, str | None]
"""A type, and the format of a date where it is not ISO 8601."""


def parse_schema(text: str) -> dict[str, Wish]:
    """Return the columns and types of `name:type,...`, or of a JSON file that maps names to types.

    A date in another form than ISO 8601 has its format behind a second colon, as in `when:date:%d.%m.%Y`.

    Raises
    ------
    UsageError
        If the file cannot be read, or a type is none.

    Examples
    --------
    >>> from stream_maxloss.intake.types import parse_schema
    >>> parse_schema("zip:category, when:date:%d.%m.%Y %H:%M")
    {'zip': ('category', None), 'when': ('date', '%d.%m.%Y %H:%M')}

    """
    found = (
        read_file(Path(text)) if is_file(text) else dict(split_pair(part) for part in text.split(",") if part.strip())
    )
    return {name: checked(name, kind) for name, kind in found.items()}


def is_file(text: str) -> bool:
    """Return whether the text names a file rather than columns."""
    return text.endswith(".json") or (":" not in text and Path(text).is_file())


def read_file(path: Path) -> dict[str, str]:
    """Return what a JSON file says."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--schema must name a file that can be read, got {str(path)!r}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path} must be a JSON object of column names and types, got: {error}") from error
    if not isinstance(found, Mapping) or not all(isinstance(kind, str) for kind in found.values()):
        raise UsageError(f'{path} must be a JSON object of column names and types, such as {{"zip": "category"}}')
    return dict(found)


def split_pair(text: str) -> tuple[str, str]:
    """Return name and type of `name:type`."""
    name, colon, kind = text.strip().partition(":")
    if not colon or not name:
        raise UsageError(
            f"--schema must be name:type,... or a JSON file, got {text.strip()!r}; types: {', '.join(TYPES)}"
        )
    return name, kind


def checked(name: str, text: Any) -> Wish:
    """Return the type that a text names."""
    kind, _, form = str(text).partition(":")
    kind = kind.strip()
    if kind not in TYPES or (form and kind != "date"):
        raise UsageError(f"the type of {name!r} must be one of {', '.join(TYPES)}, got {text!r}")
    return kind, form or None
