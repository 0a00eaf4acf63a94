"""The help that fits a screen: the options that most people need, in few words."""

from __future__ import annotations

import click

__all__ = ["MOST_LINES", "common_options", "write_lines"]

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
    >>> from stream_maxloss.cli.options.short_help import fit
    >>> fit("Address to listen on; beyond this machine only with a token file", 40)
    'Address to listen on'

    """
    if len(text) <= room:
        return text
    ends = [place for mark in ("; ", ": ", ", ", " (") if 0 < (place := text.rfind(mark, 0, room + 1)) <= room]
    return text[: max(ends)] if ends else text[: room - 3].rsplit(" ", 1)[0] + "..."
