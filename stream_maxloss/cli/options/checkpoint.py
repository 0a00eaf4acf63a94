"""The checkpoint that the command line names: the newest of a directory, or a single one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stream_maxloss.cli.options.group import argument

if TYPE_CHECKING:
    from stream_maxloss.checkpoint import Content

__all__ = ["allow_pickle_option", "checkpoint_argument", "find_checkpoints", "open_model", "read_content"]

checkpoint_argument = argument(
    "checkpoint",
    "CHECKPOINT",
    "A directory of checkpoints (the newest intact one is used), or a single one (DIR/ckpt-...).",
    type=click.Path(path_type=Path),
)
allow_pickle_option = click.option(
    "--allow-pickle",
    is_flag=True,
    help="Load a pickled model, which runs code: only from checkpoints that you wrote.",
)


def find_checkpoints(path: Path) -> list[Path]:
    """Return the directory of each checkpoint, oldest first.

    Raises
    ------
    CheckpointError
        If there is none.

    """
    from stream_maxloss.checkpoint import CheckpointStore
    from stream_maxloss.errors import CheckpointError

    if is_single(path):
        return [path]
    store = CheckpointStore(path)
    found = [store.path(seq) for seq in store.list()]
    if not found:
        raise CheckpointError(
            f"{path} must hold a checkpoint, got none; check the path: maxloss tail --checkpoint DIR writes them"
        )
    return found


def is_single(path: Path) -> bool:
    """Return whether a path is meant to be one checkpoint, whole or not."""
    return (path / "manifest.json").exists() or path.name.startswith(("ckpt-", "corrupt-", "retired-"))


def read_content(path: Path) -> Content:
    """Return what a checkpoint holds. A pickle is read as bytes and not opened.

    Raises
    ------
    CheckpointError
        If there is none that is whole.

    """
    from stream_maxloss.checkpoint import CheckpointStore
    from stream_maxloss.checkpoint.reader import read_checkpoint

    found = find_checkpoints(path)
    return (
        read_checkpoint(path, allow_pickle=True) if found == [path] else CheckpointStore(path).load(allow_pickle=True)
    )


def open_model(content: Content, allow_pickle: bool) -> Any:
    """Return the model of a checkpoint.

    Raises
    ------
    CheckpointError
        If it is a pickle and that is not allowed, or does not fit.

    """
    from stream_maxloss.errors import CheckpointError
    from stream_maxloss.run.saved import open_saved

    if "model" in content.blobs and not allow_pickle:
        raise CheckpointError(
            f"{pickled_name(content)} is kept as a pickle, which can run any code; if you wrote this checkpoint "
            "yourself, add --allow-pickle"
        )
    return open_saved(content, allow_pickle)


def pickled_name(content: Content) -> str:
    """Return the class of a pickled model."""
    description = content.values.get("model.description")
    return str(description.get("pickle", "the model")) if isinstance(description, dict) else "the model"
