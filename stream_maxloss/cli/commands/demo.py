"""`maxloss demo`: a growing file with a rare kind of attack, bare against focused, and `auto`."""

from __future__ import annotations

from pathlib import Path

import click

from stream_maxloss.cli.options.group import Command

__all__ = ["demo"]


@click.command(cls=Command)
@click.option("--rows", type=click.IntRange(1000, 10_000_000), default=60_000, help="Number of rows in the stream.")
@click.option(
    "--directory",
    "-d",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=Path("maxloss-demo"),
    help="Where to put the file and the plot.",
)
def demo(rows: int, directory: Path) -> None:
    """Tail a growing file in which 3 of 1000 rows are a rare attack, with a bare learner, a focused one and auto.

    The stream is made up on the spot, from a fixed seed: the numbers are the same each time. The first run compiles
    the kernels, which takes a while; after that they are cached. The table goes to stdout. The CSV file and, where
    matplotlib is installed, a plot stay in the directory.
    """
    from stream_maxloss.cli.demo.elsewhere import compiling_elsewhere

    with compiling_elsewhere() as other:
        from stream_maxloss.cli.demo.contest import run_demo

        run_demo(rows, directory, other)
