"""Options that belong together, handed to a command as one object."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import click

__all__ = ["Argument", "Command", "argument", "grouped"]

MOST_LINES, NAMES = 14, 34
"""Options up to which all of them are shown; characters for their names."""
COMMON = {
    "Rows": ("follow", "target", "key", "slice_by", "labels", "limit", "on_bad"),
    "Model and results": ("name", "models", "metrics", "checkpoint", "predictions", "output", "plot", "help_all"),
}
"""Options that a screen of help shows where there are too many, by what they are about."""
SHORT = {
    "follow": "Keep reading as files grow, like tail -F",
    "target": "The column to predict",
    "key": "The column that identifies a row",
    "slice_by": "Score each value of a column, name the worst",
    "labels": "Labels that arrive later, by --key",
    "limit": "Stop at this many rows",
    "on_bad": "What to do with a malformed record",
    "name": "auto, or a learner, or any River model",
    "models": "A model to compare; may be repeated",
    "metrics": "A metric of River or ours",
    "predictions": "Write the prediction for each row",
    "plot": "Draw the first metric over the rows",
    "format": "csv, jsonl, parquet, ...; auto: by name",
    "extra": "A setting of Kafka's client or the format",
    "text": "Free-text columns, or none",
    "schema": "Column types, or a file of them",
    "max_bad": "Stop if more records than this are bad",
    "allow_pickle": "Load a pickled model, which runs code",
    "scaled": "Show numbers as the model keeps them",
    "tls_client_ca": "Accept only clients that it vouches for",
    "token_file": "Who may read and who may teach",
    "help": "Show this message and exit",
}
"""Few words for options whose help is longer than a line, by the names of their parameters."""

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


def common_options(options: list[click.Option]) -> dict[str, list[click.Option]]:
    """Return the options to show, by what they are about: all of them where they are few."""
    if len(options) <= MOST_LINES:
        return {"Options": options}
    found = {topic: [part for part in options if part.name in names] for topic, names in COMMON.items()}
    return {topic: parts for topic, parts in found.items() if parts}


def write_lines(formatter: click.HelpFormatter, context: click.Context, options: list[click.Option]) -> None:
    """Write a line for each option, under headings without blank lines between them."""
    topics = common_options(options)
    shown = [part for parts in topics.values() for part in parts]
    names = {str(part.name): name_of(part, context) for part in shown}
    width = min(NAMES, max(map(len, names.values())))
    formatter.write_paragraph()
    for topic, parts in topics.items():
        formatter.write(f"{topic}:\n")
        for part in parts:
            text = f"Describe all {len(options)} options" if part.name == "help_all" else few_words(part)
            name, room = names[str(part.name)], formatter.width - width - 4
            formatter.write(f"  {name:<{width}}  {fit(text, room)}\n")


def name_of(option: click.Option, context: click.Context) -> str:
    """Return the names of an option and what it takes; of two opposites the one that changes something."""
    record = option.get_help_record(context)
    name = "" if record is None else record[0]
    return name.split(" / ")[0] if len(option.secondary_opts) == 1 and option.default is False else name


def few_words(option: click.Option) -> str:
    """Return what an option does, in few words; its own where they are few."""
    first = " ".join((option.help or "").split()).split(". ")[0].rstrip(".")
    return first if len(first) <= len(SHORT.get(str(option.name), "")) else SHORT.get(str(option.name), first)


def fit(text: str, room: int) -> str:
    """Return as many whole clauses of a text as fit on a line.

    Examples
    --------
    >>> from stream_maxloss.cli.options.group import fit
    >>> fit("Address to listen on; beyond this machine only with a token file", 40)
    'Address to listen on'

    """
    if len(text) <= room:
        return text
    ends = [place for mark in ("; ", ": ", ", ", " (") if 0 < (place := text.rfind(mark, 0, room + 1)) <= room]
    return text[: max(ends)] if ends else text[: room - 3].rsplit(" ", 1)[0] + "..."
