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
@argument("directory", "DIR", "The directory of checkpoints of a maxloss tail.", type=click.Path(path_type=Path))
@argument(
    "words",
    "[OPTIONS]",
    "Options of maxloss tail to change, such as --limit, --report-every or --on-bad; all others are as they were.",
    nargs=-1,
    type=click.UNPROCESSED,
)
@click.pass_context
def resume(context: click.Context, directory: Path, words: tuple[str, ...]) -> Any:
    """Go on with a run where its last checkpoint stands, with the options that it was begun with.

    The same as the maxloss tail that began it, word by word and in the same folder. What decides about the model, its
    rows and its scores cannot be changed on the way. Secrets given by -X are not kept, and have to be given again.
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
    folder = command_of(content)["folder"]
    if isinstance(folder, str) and Path(folder).is_dir():
        os.chdir(folder)
    with tail.make_context("resume", ["--checkpoint", str(directory), *words], parent=context.parent) as inner:
        return tail.invoke(inner)
