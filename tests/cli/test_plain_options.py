"""Options come out as Typer would convert them, whether they were converted or handed on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.core import TyperCommand, TyperGroup
from typer.testing import CliRunner

from stream_maxloss.cli.plain_options import PlainCommand, PlainGroup


def note(context: typer.Context, value: Path | None) -> Path | None:
    if value is not None:
        context.default_map = {"count": 0, "names": ["from", "file"], "word": "kept"}
    return value


def run(words: list[str], group: Any, command: Any) -> Any:
    app = typer.Typer(cls=group)
    seen: list[Any] = []

    @app.callback()
    def options() -> None:
        pass

    @app.command(cls=command)
    def show(
        paths: Annotated[list[str] | None, typer.Argument()] = None,
        word: Annotated[str, typer.Option()] = "default",
        maybe: Annotated[str | None, typer.Option()] = None,
        names: Annotated[list[str] | None, typer.Option()] = None,
        count: Annotated[int, typer.Option(min=1)] = 3,
        share: Annotated[float | None, typer.Option()] = None,
        folder: Annotated[Path | None, typer.Option(callback=note, is_eager=True)] = None,
        focus: Annotated[bool | None, typer.Option("--focus/--no-focus")] = None,
        quiet: Annotated[bool, typer.Option("--quiet")] = False,
    ) -> None:
        seen.append((paths, word, maybe, names, count, share, folder, focus, quiet))

    done = CliRunner().invoke(app, ["show", *words])
    return done.exit_code, done.output, seen


@pytest.mark.parametrize(
    "words",
    [
        "",
        "a b",
        "--word x --maybe y --names p --names q",
        "--count 7 --share 0.5",
        "--count 0",
        "--count many",
        "--share half",
        "--folder here",
        "--folder here --count 2",
        "--focus --quiet",
        "--no-focus",
        "--unknown",
    ],
)
def test_every_option_comes_out_as_from_typer(words: str) -> None:
    assert run(words.split(), PlainGroup, PlainCommand) == run(words.split(), TyperGroup, TyperCommand)
