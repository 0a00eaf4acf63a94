"""The commands, put together. Each lives in a module of its own that loads what is heavy only when it runs."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

import click

from stream_maxloss import __version__
from stream_maxloss.cli.commands.compare import compare
from stream_maxloss.cli.commands.demo import demo
from stream_maxloss.cli.commands.explain import explain
from stream_maxloss.cli.commands.export import export
from stream_maxloss.cli.commands.hard import hard
from stream_maxloss.cli.commands.inspect import inspect
from stream_maxloss.cli.commands.predict import predict
from stream_maxloss.cli.commands.resume import resume
from stream_maxloss.cli.commands.schema import schema
from stream_maxloss.cli.commands.serve import serve
from stream_maxloss.cli.commands.tail import tail
from stream_maxloss.cli.commands.verify import verify
from stream_maxloss.cli.commands.watch import watch
from stream_maxloss.cli.exit_codes import DONE, FAILED, INTERRUPTED, code_of
from stream_maxloss.cli.process.completion import VARIABLE, completion_options
from stream_maxloss.cli.process.late_imports import LateImports
from stream_maxloss.errors import DecodeError, StreamMaxlossError

__all__ = ["app", "run"]


PURPOSES = {
    "Start": {
        "demo": "Watch a bare learner, a focused one and auto on a made-up stream.",
        "schema": "Show the columns of a source, and what a learner makes of each.",
    },
    "Learn and predict": {
        "tail": "Predict, score and then learn every row, and report the scores.",
        "resume": "Continue a run from its last checkpoint.",
        "predict": "Predict every row with the model of a checkpoint.",
        "compare": "Run several models over one pass of a source.",
        "serve": "Serve a model over HTTP, which learns as it goes.",
    },
    "Look into a run": {
        "watch": "Show a run on a live page in a browser.",
        "hard": "Show the rows that the model keeps getting wrong.",
        "explain": "Show what speaks for a prediction, and what against it.",
        "inspect": "Show what a checkpoint holds.",
        "verify": "Check every file of every checkpoint.",
        "export": "Write the model for other programs: ONNX or JSON.",
    },
}
"""The commands, by what they are for, in few words each."""


class Commands(click.Group):
    """A group whose help lists the commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command, by what it is for."""
        for purpose, lines in PURPOSES.items():
            with formatter.section(purpose):
                formatter.write_dl(list(lines.items()))


@click.group(name="maxloss", cls=Commands, context_settings={"show_default": True})
@click.version_option(__version__, message="maxloss %(version)s", help="Print the version and exit.")
@completion_options
def app() -> None:
    """Learn from a live stream when the rare, hard rows matter."""


for command in (*(tail, resume, serve, watch, predict, demo, compare, schema, hard, explain, export, inspect, verify),):
    app.add_command(command)


def run() -> None:
    """Run the command line; an error that a user can cause is one line on stderr and an exit code."""
    LateImports.install()
    # Outside of standalone mode click raises its errors instead of printing them, but does not complete arguments.
    try:
        code = app(prog_name="maxloss", standalone_mode=VARIABLE in os.environ)
        sys.stdout.flush()  # here a full disk is one line; when Python leaves it is a complaint of its own
    except BrokenPipeError:
        # Who read our output has gone, as `head` does.
        give_up_stdout()
        sys.exit(FAILED)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(INTERRUPTED)
    except (StreamMaxlossError, click.ClickException, MemoryError, OSError) as error:
        if os.environ.get("MAXLOSS_TRACEBACK"):
            raise
        print(one_line(error), file=sys.stderr)  # noqa: T201
        if isinstance(error, OSError):
            give_up_stdout()
        sys.exit(code_of(error))
    sys.exit(code if isinstance(code, int) else DONE)


def give_up_stdout() -> None:
    """Drop what stdout still holds: Python would complain once more when it closes it."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def one_line(error: Any) -> str:
    """Return what to print for an error: one line, or the help for a command without arguments."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else "standard output or another file: "
        return f"maxloss: {where}{error.strerror or error}"
    if isinstance(error, MemoryError):
        return f"maxloss: memory does not suffice: {error or 'no more can be had'}; ask for less, as by --window"
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error.format_message()
    if isinstance(error, DecodeError):
        return f"maxloss: {' '.join(str(error).split())} (--on-bad skip leaves out such rows)"
    if not isinstance(error, click.ClickException):
        return "maxloss: " + " ".join(str(error).split())
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "maxloss"
    message = " ".join(error.format_message().split()).rstrip(".")
    return f"maxloss: {message}{' ' if message.endswith('?') else '; '}see {command} --help"
