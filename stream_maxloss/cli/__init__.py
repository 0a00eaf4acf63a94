"""The command `maxloss`."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit code."""
    from stream_maxloss.cli.app import run

    run()
