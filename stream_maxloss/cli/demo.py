"""`maxloss demo`: a growing file with a rare kind of attack, bare against focused."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["demo"]


def demo(
    rows: Annotated[int, typer.Option("--rows", help="Rows of the stream.", min=1000, max=10_000_000)] = 60_000,
    directory: Annotated[
        Path, typer.Option("--directory", "-d", metavar="DIR", help="Where the file and the plot are left.")
    ] = Path("maxloss-demo"),
) -> None:
    """Tail a growing file in which 3 of 1000 rows are a rare attack, with a bare and a focused learner.

    The stream is made up on the spot, from a fixed seed: the numbers are the same each time. The first run compiles
    the kernels, which takes a while; after that they are cached. The table goes to stdout. The CSV file and, where
    matplotlib is installed, a plot stay in the directory.
    """
    from stream_maxloss.cli.demo_run import run_demo

    run_demo(rows, directory)
