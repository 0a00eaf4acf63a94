"""`maxloss verify`: whether checkpoints are what was written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stream_maxloss.cli.exit_codes import CHECKPOINT, DONE
from stream_maxloss.cli.options.checkpoint import allow_pickle_option, checkpoint_argument, find_checkpoints
from stream_maxloss.cli.options.group import Command
from stream_maxloss.cli.options.usage import require_choice

if TYPE_CHECKING:
    from stream_maxloss.checkpoint import Report

__all__ = ["verify"]


@click.command(cls=Command)
@checkpoint_argument
@click.option("--output", "-o", metavar="text|jsonl", default="text", help="A table, or one JSON object per file.")
@allow_pickle_option
def verify(checkpoint: Path, output: str, allow_pickle: bool) -> int:
    """Check every file of every checkpoint against its digest, load it as a run would, and change nothing.

    Exit code 0 if all of them could be loaded, 4 if one could not. A running maxloss tail is not disturbed. A pickled
    model is not opened unless allowed. Digests tell accidents; they do not tell who wrote a checkpoint.
    """
    from stream_maxloss.cli.reports.messages import Messages
    from stream_maxloss.run.saved import verify_run

    require_choice("--output", output, ("text", "jsonl"))
    reports = [verify_run(path, allow_pickle) for path in find_checkpoints(checkpoint)]
    show(reports, output)
    damaged = [report for report in reports if not report.ok]
    for report in damaged:
        Messages().say(f"{report.path.name} cannot be loaded: {report.problem}")
    if not allow_pickle and any(file.name.endswith(".pkl") for report in reports for file in report.files):
        Messages().say("a pickled model was not opened, so that it may not load; --allow-pickle opens it")
    if damaged and len(damaged) < len(reports):
        Messages().say("the newest whole checkpoint takes over when the run is resumed")
    return CHECKPOINT if damaged else DONE


def show(reports: list[Report], output: str) -> None:
    """Print a line for each file of each checkpoint."""
    import sys

    import orjson

    from stream_maxloss.cli.reports.text_table import format_bytes, format_table

    lines = [(report.path.name, file.name, file.bytes, file.problem) for report in reports for file in report.files]
    if output == "jsonl":
        keys = ("checkpoint", "file", "bytes", "problem")
        texts = [orjson.dumps(dict(zip(keys, line, strict=True))) + b"\n" for line in lines]
        sys.stdout.buffer.write(b"".join(texts))
        sys.stdout.buffer.flush()
        return
    rows = [
        [name, file, "" if size is None else format_bytes(size), "ok" if problem is None else "DAMAGED"]
        for name, file, size, problem in lines
    ]
    print(format_table(["checkpoint", "file", "size", "state"], rows, left=(0, 1)))  # noqa: T201
