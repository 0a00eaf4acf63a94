"""The commands, put together. Each lives in a module of its own that loads what is heavy only when it runs."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from stream_maxloss import __version__
from stream_maxloss.cli.compare import compare
from stream_maxloss.cli.demo import demo
from stream_maxloss.cli.exit_codes import DONE, FAILED, INTERRUPTED, code_of
from stream_maxloss.cli.hard import hard
from stream_maxloss.cli.inspect import inspect
from stream_maxloss.cli.late_imports import LateImports
from stream_maxloss.cli.plain_options import PlainCommand, PlainGroup
from stream_maxloss.cli.predict import predict
from stream_maxloss.cli.schema import schema
from stream_maxloss.cli.tail import tail
from stream_maxloss.cli.verify import verify
from stream_maxloss.errors import StreamMaxlossError

__all__ = ["app", "run"]

app = typer.Typer(
    name="maxloss",
    help="Learn from a live stream when the rare, hard rows matter.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    cls=PlainGroup,
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


app.command(cls=PlainCommand)(tail)
app.command(cls=PlainCommand)(predict)
app.command(cls=PlainCommand)(demo)
app.command(cls=PlainCommand)(compare)
app.command(cls=PlainCommand)(schema)
app.command(cls=PlainCommand)(hard)
app.command(cls=PlainCommand)(inspect)
app.command(cls=PlainCommand)(verify)


def run() -> None:
    """Run the command line; an error that a user can cause is one line on stderr and an exit code."""
    LateImports.install()
    try:
        code = app(prog_name="maxloss", standalone_mode=False)
    except BrokenPipeError:
        # Who read our output has gone, as `head` does. Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if os.environ.get("MAXLOSS_TRACEBACK") or not is_expected(error):
            raise
        print(one_line(error), file=sys.stderr)  # noqa: T201
        sys.exit(code_of(error))
    sys.exit(code if isinstance(code, int) else DONE)


def is_expected(error: BaseException) -> bool:
    """Tell whether an error is the user's to deal with, rather than a defect."""
    return isinstance(error, StreamMaxlossError | ValueError | TypeError) or is_usage(error)


def is_usage(error: BaseException) -> bool:
    """Tell whether the words on the command line are wrong. Typer keeps the class of such errors to itself."""
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def one_line(error: Any) -> str:
    """Return what to print for an error: one line, or the help for a command without any words."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return str(error.format_message())
    if not is_usage(error):
        return "maxloss: " + " ".join(str(error).split())
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "maxloss"
    return f"maxloss: {' '.join(error.format_message().split()).rstrip('.')}; see {command} --help"
