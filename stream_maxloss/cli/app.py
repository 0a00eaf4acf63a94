"""The commands, put together. Each lives in a module of its own that loads what is heavy only when it runs."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from stream_maxloss import __version__
from stream_maxloss.cli.exit_codes import code_of
from stream_maxloss.errors import StreamMaxlossError

__all__ = ["app", "run"]

app = typer.Typer(
    name="maxloss",
    help="Learn from a live stream when the rare, hard rows matter.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def show_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        typer.echo(f"maxloss {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """Learn from a live stream when the rare, hard rows matter."""


def run() -> None:
    """Run the command line; an error that a user can cause is one line on stderr and an exit code."""
    try:
        app()
    except (StreamMaxlossError, ValueError, TypeError) as error:
        if os.environ.get("MAXLOSS_TRACEBACK"):
            raise
        print(f"maxloss: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(code_of(error))
