"""`maxloss resume`: go on with a run, from nothing but its checkpoints."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from stream_maxloss.cli.commands.tail import tail
from stream_maxloss.cli.options.group import Command, argument

__all__ = ["resume"]


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@argument("directory", "DIR", "The checkpoint directory of a maxloss tail run.", type=click.Path(path_type=Path))
@argument(
    "words",
    "[OPTIONS]",
    "Options of maxloss tail to change, such as --limit, --report-every or --on-bad; the others stay as they were.",
    nargs=-1,
    type=click.UNPROCESSED,
)
@click.pass_context
def resume(context: click.Context, directory: Path, words: tuple[str, ...]) -> Any:
    """Continue a run from its last checkpoint, with the options it was started with.

    Equivalent to running the original maxloss tail again in the same directory. Options that define the model, its rows
    or its scores cannot change. Secrets given with -X are not stored and must be given again. From a checkpoint that
    another user wrote, no files, servers or programs are taken over: use maxloss tail.
    """
    from stream_maxloss.cli.options.saved import command_of, saved_content
    from stream_maxloss.errors import CheckpointError

    directory = directory.absolute()
    content = saved_content(directory)
    if content is None:
        raise CheckpointError(
            f"{directory} must hold a checkpoint that is whole, got none; maxloss tail --checkpoint DIR writes them, "
            "and maxloss verify says what is wrong with them"
        )
    command = command_of(content)
    folder = command["folder"]
    if command["own"] and isinstance(folder, str) and Path(folder).is_dir():
        os.chdir(folder)
    with tail.make_context("resume", ["--checkpoint", str(directory), *words], parent=context.parent) as inner:
        return tail.invoke(inner)
