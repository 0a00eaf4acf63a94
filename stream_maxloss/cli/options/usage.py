"""Errors of the library about what the user wrote, as errors of usage."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from stream_maxloss.errors import StreamMaxlossError, UsageError

__all__ = ["require_choice", "usage_errors"]


@contextlib.contextmanager
def usage_errors(prefix: str = "") -> Iterator[None]:
    """Turn a refused argument into a `UsageError`.

    For calls whose arguments come from the command line as they are; anywhere else such an error is a defect.
    """
    try:
        yield
    except StreamMaxlossError:
        raise
    except (ValueError, TypeError) as error:
        raise UsageError(f"{prefix}{error}") from error


def require_choice(option: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a value that is not among some."""
    if value not in choices:
        known = f"{', '.join(choices[:-1])} or {choices[-1]}"
        raise UsageError(f"{option} must be {known}, got {value!r}")
