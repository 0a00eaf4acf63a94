"""Messages on stderr, one line each."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any

from stream_maxloss.errors import UsageError

__all__ = ["Messages"]


class Messages:
    """Prints what the user should know.

    Parameters
    ----------
    quiet
        Whether to print nothing but errors.
    verbose
        Whether to log every checkpoint, too.

    """

    def __init__(self, quiet: bool = False, verbose: bool = False) -> None:
        if quiet and verbose:
            raise UsageError("--quiet and --verbose must not both be given; choose one")
        self.quiet = quiet
        self.verbose = verbose

    def say(self, message: str) -> None:
        """Print a message unless quiet."""
        if not self.quiet:
            print(f"maxloss: {' '.join(message.split())}", file=sys.stderr, flush=True)  # noqa: T201

    def warn(self, message: str) -> None:
        """Print a message, also if quiet."""
        print(f"maxloss: {' '.join(message.split())}", file=sys.stderr, flush=True)  # noqa: T201

    def catch_all(self) -> None:
        """Print warnings of the library, and what a run logs, as one line each."""

        def show(message: Any, *_: Any, **__: Any) -> None:
            self.say(f"warning: {message}")

        warnings.showwarning = show
        warnings.simplefilter("always", UserWarning)
        logger = logging.getLogger("stream_maxloss.run")
        logger.setLevel(logging.DEBUG if self.verbose else logging.INFO)
        logger.handlers[:] = [Lines(self)]
        logger.propagate = False


class Lines(logging.Handler):
    """Prints what is logged as messages."""

    def __init__(self, messages: Messages) -> None:
        super().__init__()
        self.messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        """Print one message."""
        self.messages.say(record.getMessage())
