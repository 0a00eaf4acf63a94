"""Messages on stderr, one line each."""

from __future__ import annotations

import sys
import warnings
from typing import Any

__all__ = ["Messages"]


class Messages:
    """Says what the user should know, as much of it as asked for.

    Parameters
    ----------
    quiet
        Whether to say nothing but errors.
    verbose
        Whether to tell of everything, checkpoints too.

    """

    def __init__(self, quiet: bool = False, verbose: bool = False) -> None:
        if quiet and verbose:
            raise ValueError("--quiet and --verbose must not both be given; choose one")
        self.quiet = quiet
        self.verbose = verbose

    def say(self, message: str) -> None:
        """Say something unless quiet."""
        if not self.quiet:
            print(f"maxloss: {' '.join(message.split())}", file=sys.stderr, flush=True)  # noqa: T201

    def detail(self, message: str) -> None:
        """Say something if verbose."""
        if self.verbose:
            self.say(message)

    def catch_warnings(self) -> None:
        """Show warnings of the library as one line each."""

        def show(message: Any, *_: Any, **__: Any) -> None:
            self.say(f"warning: {message}")

        warnings.showwarning = show
        warnings.simplefilter("always", UserWarning)
