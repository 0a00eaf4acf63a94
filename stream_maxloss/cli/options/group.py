"""Options that belong together, handed to a command as one object."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import click

from stream_maxloss.cli.options.short_help import MOST_LINES, write_lines

__all__ = ["Argument", "Command", "argument", "grouped"]

IN_FULL = "help in full"
FEW = 5
"""Options up to which the text is shown whole."""

TOPICS = {
    "Source": ("format", "extra", "kafka_config", "follow", "until_eof", "on_gap", "decoders"),
    "Columns": (
        *("target", "positive", "task", "key", "time", "keep", "slice_by", "weight", "features", "exclude"),
        *("dates", "text", "schema"),
    ),
    "Labels that come later": ("delay", "labels", "label_ttl"),
    "Model": (
        *("name", "models", "settings", "focus", "window", "replays", "slack", "share", "scale", "seed", "certify"),
        *("text_limit", "model_per", "model_memory", "prior"),
    ),
    "Several workers": ("ray", "workers", "shards", "mix_every"),
    "Bad records": ("on_bad", "max_bad"),
    "Checkpoints": ("checkpoint", "resume", "checkpoint_every", "keep_checkpoints", "allow_pickle"),
    "Reports and predictions": (
        *(
            "predictions",
            "metrics",
            "output",
            "report_every",
            "slices",
            "alerts",
            "actions",
            "plot",
            "quiet",
            "verbose",
        ),
    ),
}
"""What options are about, by the names of their parameters."""

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Argument(click.Argument):
    """An argument with a help text, which click's own do not have."""

    def __init__(self, declarations: Any, help: str = "", **settings: Any) -> None:
        super().__init__(declarations, **settings)
        self.help = help


class Command(click.Command):
    """A command whose help fits a screen: what it does, its arguments, and a line for each option that most need.

    Where there are more options than that, `--help-all` explains all of them in full, by what they are about.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        if len(self.params) > MOST_LINES:
            self.params.append(click.Option(["--help-all"], **HELP_ALL))

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does: the first paragraph, or all."""
        text = inspect.cleandoc(self.help or "")
        with formatter.indentation():
            formatter.write_paragraph()
            if ctx.meta.get(IN_FULL) or len(self.params) <= FEW:
                formatter.write_text(text)
            else:
                formatter.write_text(text.split("\n\n")[0])

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: newer versions of click explain arguments themselves, older ones do not, and we always do."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments, then the options."""
        parameters = self.get_params(ctx)
        arguments = [(str(part.metavar), str(part.help)) for part in parameters if isinstance(part, Argument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        options = [part for part in parameters if isinstance(part, click.Option) and not part.hidden]
        if ctx.meta.get(IN_FULL):
            self._write_all(ctx, formatter, options)
        else:
            write_lines(formatter, ctx, options)

    def _write_all(self, ctx: click.Context, formatter: click.HelpFormatter, options: list[click.Option]) -> None:
        known = {name for names in TOPICS.values() for name in names}
        topics = {**TOPICS, "Other options": tuple(str(part.name) for part in options if part.name not in known)}
        for topic, names in topics.items():
            records = [part.get_help_record(ctx) for part in options if part.name in names]
            if records:
                with formatter.section(topic):
                    formatter.write_dl([record for record in records if record is not None])


def show_all(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print all of the help, and end."""
    if wanted and not context.resilient_parsing:
        context.meta[IN_FULL] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


HELP_ALL: dict[str, Any] = {
    "is_flag": True,
    "is_eager": True,
    "expose_value": False,
    "callback": show_all,
    "show_default": False,
    "help": "Describe every option in full.",
}


def argument(name: str, metavar: str, help: str, **settings: Any) -> Decorator:
    """Return the decorator that adds an argument with a help text."""
    return click.argument(name, cls=Argument, metavar=metavar, help=help, **settings)


def grouped(field: str, kind: Callable[..., Any], *options: Decorator) -> Decorator:
    """Return the decorator that adds options to a command and hands them to it as one argument.

    Parameters
    ----------
    field
        The command's argument.
    kind
        Makes its value from the values of the options, by their names.
    options
        Results of `click.option` and `argument`.

    Examples
    --------
    >>> import click
    >>> from stream_maxloss.cli.options.group import grouped
    >>> @click.command()
    ... @grouped("size", dict, click.option("--width", default=3), click.option("--height", default=4))
    ... def draw(size):
    ...     print(size)
    >>> draw(["--width", "5"], standalone_mode=False)
    {'width': 5, 'height': 4}

    """
    names = names_of(options)

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def call(**values: Any) -> Any:
            given = {name: values.pop(name) for name in names}
            return command(**values, **{field: kind(**given)})

        for option in reversed(options):
            option(call)
        return call

    return decorate


def names_of(options: tuple[Decorator, ...]) -> list[str]:
    """Return the names under which click hands values to a command."""

    def scratch() -> None:
        pass

    for option in options:
        option(scratch)
    parameters: list[click.Parameter] = scratch.__click_params__  # type: ignore[attr-defined]
    return [str(parameter.name) for parameter in parameters]
