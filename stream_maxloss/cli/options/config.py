"""Options from a TOML file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click

from stream_maxloss.errors import UsageError
from stream_maxloss.run.closest import closest

__all__ = ["config_option"]


def read_config(context: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    """Make the options of a file the defaults of the command; the command line wins over it.

    The names are those of the options, `checkpoint-every` or `checkpoint_every`, at the top of the file or in a table
    of the command's name; `source` stands for the arguments.
    """
    if path is None or context.resilient_parsing:
        return path
    try:
        values = tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"--config must be a file that can be read, got {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--config must be TOML, got {path}: {error}") from error
    command = str(context.info_name)
    values = {name: value for name, value in values.items() if not isinstance(value, dict)} | values.get(command, {})
    names = option_names(context)
    defaults: dict[str, Any] = dict(context.default_map or {})
    for name, value in values.items():
        key = name.replace("-", "_")
        if key not in names:
            raise UsageError(
                f"{path}: an entry must be an option of maxloss {command}, got {name!r}; {closest(key, names)}"
            )
        parameter, many = names[key]
        defaults[parameter] = value if many == isinstance(value, list) else [value] if many else value
    context.default_map = defaults
    return path


def option_names(context: click.Context) -> dict[str, tuple[str, bool]]:
    """Return how a file names each option -> the parameter, and whether it takes several values."""
    names: dict[str, tuple[str, bool]] = {}
    for parameter in context.command.params:
        many = bool(getattr(parameter, "multiple", False)) or parameter.nargs == -1
        for option in [*parameter.opts, str(parameter.name)]:
            if len(option.lstrip("-")) > 1 and option != "--config":
                names[option.lstrip("-").replace("-", "_")] = (str(parameter.name), many)
    if "sources" in names:
        names["source"] = names["sources"]
    return names


config_option = click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=read_config,
    is_eager=True,
    expose_value=False,
    help="Read options from a TOML file; the command line takes precedence.",
)
