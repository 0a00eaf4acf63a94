"""Commands, their help and their pages hold each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer.main

from stream_maxloss.cli.app import app

PAGES = Path(__file__).parents[2] / "docs" / "commands"
GROUP: Any = typer.main.get_command(app)
COMMANDS = sorted(GROUP.commands)


def parameters_of(name: str) -> list[Any]:
    return [parameter for parameter in GROUP.commands[name].params if parameter.name != "help"]


def table_row(parameter: Any) -> str:
    """The line that a page must have for an option or argument: names, metavar and help, as `--help` shows them."""
    help_text = " ".join((parameter.help or "").split()).replace("|", "\\|")
    if parameter.param_type_name == "argument":
        return f"| `{parameter.metavar}` | {help_text} |"
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    metavar = "" if getattr(parameter, "is_flag", False) else f" {parameter.metavar or parameter.name.upper()}"
    code = f"{names}{metavar}".replace("|", "\\|")
    return f"| `{code}` | {help_text} |"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_does(name: str) -> None:
    assert len((GROUP.commands[name].help or "").split()) >= 5


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help(name: str) -> None:
    assert [parameter.name for parameter in parameters_of(name) if not parameter.help] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_page_with_its_usage(name: str) -> None:
    page = PAGES / f"{name}.md"
    assert page.is_file(), f"write {page}"
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# `maxloss {name}`\n")
    assert f"maxloss {name}" in text.split("\n", 1)[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_in_the_table_of_its_page_with_the_help_of_now(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    missing = [row for parameter in parameters_of(name) if (row := table_row(parameter)) not in text]
    assert missing == [], "put these lines into the page:\n" + "\n".join(missing)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_page_has_an_option_that_is_gone(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    expected = {table_row(parameter) for parameter in parameters_of(name)}
    found = [line for line in text.splitlines() if line.startswith("| `-")]
    assert [line for line in found if line not in expected] == []


def test_every_page_belongs_to_a_command() -> None:
    assert sorted(page.stem for page in PAGES.glob("*.md") if page.stem != "index") == COMMANDS


def test_the_list_of_pages_names_every_command() -> None:
    text = (PAGES / "index.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"]({name}.md)" not in text] == []
