"""Commands, their help and their pages hold each other."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

from stream_maxloss.cli.app import app

PAGES = Path(__file__).parents[2] / "docs" / "commands"
GROUP: Any = app
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
def test_the_help_of_every_command_fits_a_screen(name: str) -> None:
    command = GROUP.commands[name]
    lines = command.get_help(click.Context(command, info_name=f"maxloss {name}", terminal_width=80)).splitlines()
    assert len(lines) <= 23, "\n".join(lines)  # of 24, the last has the prompt
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line.startswith("  ") and line.endswith("...")]


def test_the_help_of_all_commands_names_each_once_and_fits_a_screen() -> None:
    from stream_maxloss.cli.app import PURPOSES

    assert sorted(name for lines in PURPOSES.values() for name in lines) == COMMANDS
    lines = GROUP.get_help(click.Context(GROUP, info_name="maxloss", terminal_width=80)).splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 32
    assert not [line for line in lines if line.endswith("...") and not line.startswith("Usage")]


def test_a_short_help_says_how_many_options_there_are_and_what_shows_them() -> None:
    command = GROUP.commands["tail"]
    text = command.get_help(click.Context(command, info_name="maxloss tail", terminal_width=80))
    assert f"Describe all {len(command.params)} options" in text  # its argument is none, --help is one
    assert "Rows:" in text
    assert "Model and results:" in text


@pytest.mark.parametrize("name", ["tail", "predict", "compare"])
def test_all_options_are_explained_in_full_by_what_they_are_about(name: str) -> None:
    command = GROUP.commands[name]
    context = click.Context(command, info_name=f"maxloss {name}", terminal_width=80)
    context.meta["help in full"] = True
    text = "".join(command.get_help(context).split())  # lines may be broken at hyphens, too
    assert "Source:" in text
    assert "Reportsandpredictions:" in text
    assert [part.name for part in parameters_of(name) if "".join(part.help.split()) not in text] == []


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


GUIDE = PAGES.parent / "production.md"


def guide_commands() -> list[list[str]]:
    """Every call of `maxloss` in the shell blocks of the guide, as words."""
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.S)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("maxloss ")]


@pytest.mark.parametrize("words", guide_commands(), ids=" ".join)
def test_every_command_of_the_guide_is_understood(words: list[str]) -> None:
    name, *rest = words
    rest = [word for word in rest if not word.startswith("/etc/") and word not in ("--config", "--kafka-config")]
    context = GROUP.commands[name].make_context(name, rest)
    assert context.params


def test_the_options_file_of_the_guide_names_real_options() -> None:
    text = re.search(r"```toml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.S)
    assert text is not None
    known = {option.lstrip("-") for parameter in parameters_of("tail") for option in parameter.opts}
    assert set(tomllib.loads(text[1])) - known == set()


def test_the_guide_has_more_than_a_handful_of_commands() -> None:
    assert len(guide_commands()) >= 10
