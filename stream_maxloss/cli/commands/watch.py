"""`maxloss watch`: the live page of a run, from its checkpoints."""

from __future__ import annotations

from pathlib import Path

import click

from stream_maxloss.cli.exit_codes import DONE
from stream_maxloss.cli.options.group import Command, argument
from stream_maxloss.cli.options.listening import ListenOptions, listen_options
from stream_maxloss.cli.reports.messages import Messages

__all__ = ["watch"]


@click.command(cls=Command)
@argument("directory", "DIR", "Checkpoints of a run.", type=click.Path(path_type=Path))
@listen_options
@click.option(
    "--allow-pickle", is_flag=True, help="Load a pickled model, which runs code: only from checkpoints that you wrote."
)
def watch(directory: Path, listening: ListenOptions, allow_pickle: bool) -> int:
    """Show a run on a live page, from its checkpoints: one that is running, or one that has ended.

    The run is not disturbed. One that was started with --watch, or is served, has its whole history in its checkpoints;
    of others each checkpoint that appears is a point.
    """
    from stream_maxloss.cli.process.signals import SignalFlags
    from stream_maxloss.serve.server import require_extra, watched
    from stream_maxloss.serve.watcher import DirectoryWatcher

    require_extra()
    messages = Messages()
    messages.catch_all()
    watcher = DirectoryWatcher(directory, allow_pickle)
    watcher.look()
    with SignalFlags() as flags, watched(watcher.bulletin, listening.transport(), messages.say):
        watcher.follow(lambda: flags.stopped)
    return flags.exit_code if flags.stopped else DONE
