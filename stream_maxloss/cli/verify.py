"""`maxloss verify`: whether checkpoints are what was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stream_maxloss.cli.checkpoint_argument import CheckpointArgument, find_checkpoints
from stream_maxloss.cli.exit_codes import CHECKPOINT, DONE

if TYPE_CHECKING:
    from stream_maxloss.checkpoint import Report

__all__ = ["verify"]


def verify(
    checkpoint: CheckpointArgument,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="text|jsonl", help="A table, or one JSON object per file.")
    ] = "text",
) -> None:
    """Check every file of every checkpoint against its digest, and change nothing.

    Exit code 0 if all of them could be loaded, 4 if one could not. A running maxloss tail is not disturbed. Digests
    tell accidents; they do not tell who wrote a checkpoint.
    """
    from stream_maxloss.checkpoint.reader import verify_checkpoint
    from stream_maxloss.cli.messages import Messages

    if output not in ("text", "jsonl"):
        raise ValueError(f"--output must be text or jsonl, got {output!r}")
    reports = [verify_checkpoint(path) for path in find_checkpoints(checkpoint)]
    show(reports, output)
    damaged = [report for report in reports if not report.ok]
    for report in damaged:
        Messages().say(f"{report.path.name} cannot be loaded: {report.problem}")
    if damaged and len(damaged) < len(reports):
        Messages().say("the newest whole checkpoint takes over when the run is resumed")
    raise typer.Exit(CHECKPOINT if damaged else DONE)


def show(reports: list[Report], output: str) -> None:
    """Print a line for each file of each checkpoint."""
    import sys

    import orjson

    from stream_maxloss.cli.text_table import format_bytes, format_table

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
