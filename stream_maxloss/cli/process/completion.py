"""Completion of commands and options in a shell."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from stream_maxloss.errors import UsageError

__all__ = ["completion_options"]

VARIABLE = "_MAXLOSS_COMPLETE"
PLACES = {
    "bash": ("{home}/.bash_completions/maxloss.sh", "{home}/.bashrc", "source '{home}/.bash_completions/maxloss.sh'"),
    "zsh": ("{home}/.zfunc/_maxloss", "{home}/.zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
    "fish": ("{home}/.config/fish/completions/maxloss.fish", "", ""),
}
"""Shell -> where its script goes, what the shell reads at its start, and the line that it needs there."""


def make_script(command: Any) -> tuple[str, str]:
    """Return the user's shell, and the script that completes a command in it.

    Raises
    ------
    UsageError
        If there is no completion for it.

    """
    shell = Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(shell) if shell in PLACES else None
    if kind is None:
        raise UsageError(f"SHELL must be one of {', '.join(PLACES)} for completion, got {shell!r}; set it to yours")
    return shell, kind(command, {}, "maxloss", VARIABLE).source()


def show(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the script and leave."""
    if wanted:
        click.echo(make_script(context.command)[1])
        context.exit()


def install(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Write the script, let the shell read it when it starts, and leave."""
    if not wanted:
        return
    shell, text = make_script(context.command)
    place, start, line = (part.format(home=Path.home()) for part in PLACES[shell])
    Path(place).parent.mkdir(parents=True, exist_ok=True)
    Path(place).write_text(text, encoding="utf-8")
    if line:
        before = Path(start).read_text(encoding="utf-8") if Path(start).exists() else ""
        if line not in before.splitlines():
            Path(start).write_text(f"{before.rstrip()}\n{line}\n".lstrip(), encoding="utf-8")
    click.echo(f"{shell} completion installed in {place}; it takes effect in new shells")
    context.exit()


def completion_options(command: Any) -> Any:
    """Add `--install-completion` and `--show-completion` to a command."""
    flag: dict[str, Any] = {"is_flag": True, "expose_value": False, "is_eager": True}
    about = "Print the completion script of the current shell."
    command = click.option("--show-completion", **flag, callback=show, help=about)(command)
    about = "Install completion for the current shell."
    return click.option("--install-completion", **flag, callback=install, help=about)(command)
