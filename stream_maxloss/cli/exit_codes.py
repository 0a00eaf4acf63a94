"""The exit codes of the command."""

from __future__ import annotations

import click

from stream_maxloss.errors import (
    CheckpointError,
    DecodeError,
    MissingExtraError,
    SourceError,
    TooManyBadRecordsError,
    UsageError,
)

__all__ = ["ALERT", "BAD_DATA", "CHECKPOINT", "DONE", "FAILED", "INTERRUPTED", "SOURCE", "USAGE", "code_of"]

DONE = 0  # the end of the source, the limit, or a clean stop on SIGTERM
FAILED = 1  # an error that has no code of its own
USAGE = 2  # invalid arguments
BAD_DATA = 3  # a bad record under --on-bad fail, or more of them than --max-bad allows
CHECKPOINT = 4  # no checkpoint can be used or written
SOURCE = 5  # the source cannot be read, or rows of it are gone
ALERT = 6  # an alert was raised, and --on-alert exit asked for the end
INTERRUPTED = 130  # SIGINT


def code_of(error: BaseException) -> int:
    """Return the exit code for an error.

    Examples
    --------
    >>> from stream_maxloss.cli.exit_codes import code_of
    >>> from stream_maxloss.errors import GapError
    >>> code_of(GapError("records 3..9 of orders[0] are gone"))
    5

    """
    if isinstance(error, TooManyBadRecordsError | DecodeError):
        return BAD_DATA
    if isinstance(error, CheckpointError):
        return CHECKPOINT
    if isinstance(error, SourceError):
        return SOURCE
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return USAGE if isinstance(error, UsageError | MissingExtraError | click.ClickException) else FAILED
