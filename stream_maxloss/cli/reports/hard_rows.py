"""The hardest rows of a checkpoint, as a table, JSON lines or Parquet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson

from stream_maxloss.cli.options.checkpoint import open_model, read_content
from stream_maxloss.cli.options.models import auto_part, focused_part
from stream_maxloss.cli.options.usage import require_choice
from stream_maxloss.cli.reports.messages import Messages
from stream_maxloss.cli.reports.text_table import format_table, shorten
from stream_maxloss.errors import CheckpointError, UsageError
from stream_maxloss.keyed import Keyed
from stream_maxloss.run.explanations import as_read
from stream_maxloss.run.origins import Origin, origin_of
from stream_maxloss.run.parts import find_scaler, hard_row, unscale

__all__ = ["find_scaler", "show", "show_hard", "unscale"]

ROW_WIDTH = 100
# Of the reasons of a row of `auto`: how many fit into the table.
SHOWN_REASONS = 2


def show_hard(path: Path, count: int, scaled: bool, output: str, to: Path | None, allow_pickle: bool) -> None:
    """Print or write the hardest rows."""
    require_choice("--output", output, ("text", "jsonl", "parquet"))
    if output == "parquet" and to is None:
        raise UsageError("--output parquet must come with a file; add --to hard.parquet")
    messages = Messages()
    messages.catch_all()
    content = read_content(path)
    model = open_model(content, allow_pickle)
    is_keyed, kept = isinstance(model, Keyed), getattr(model, "template", model)
    focused = focused_part(kept) or auto_part(kept)
    if focused is not None and not getattr(focused, "keeps_rows", True):
        raise CheckpointError(
            f"{path} must hold a model that keeps rows, got compute={focused.compute!r}; train it with "
            "--set compute=normal"
        )
    if focused is None:
        raise CheckpointError(
            f"{path} must hold a focused model, got {type(model).__name__} without a window; train it with --focus"
        )
    if is_keyed:
        write([by_key(key, row) for key, row in model.hardest_by_key(count)], output, to)
        return
    scaler = find_scaler(model)
    table, learned = content.tables.get("origins"), content.counters.get("learned", 0)
    rows = []
    for hard in focused.hardest(count):
        origin = None if table is None else origin_of(table, learned - 1 - hard.age)
        shown = hard_row(hard, None if scaled else scaler)
        if origin is not None and not scaled:
            shown["x"] = as_read(shown["x"], origin.row)
        rows.append(shown | describe(origin) | ({"row": None} if scaled else {}))
    write(rows, output, to)
    if scaler is not None and not scaled and any(row["row"] is None for row in rows):
        messages.say(
            "numbers of rows without an origin are approximate: they were unscaled with the current mean and "
            "deviation; --scaled shows them as they are stored"
        )
    if not rows:
        messages.say("the window is empty: no row was learned yet")


def by_key(key: str, hard: Any) -> dict[str, Any]:
    """Return a hard row of one of many models, as that model keeps it."""
    return hard_row(hard, None) | {"origin": None, "key": key, "slice": None, "row": None}


def describe(origin: Origin | None) -> dict[str, Any]:
    """Return what is known of a row as plain values."""
    if origin is None:
        return {"origin": None, "key": None, "slice": None, "row": None}
    return {"origin": origin.address, "key": origin.key, "slice": origin.slice, "row": origin.row}


def write(rows: list[dict[str, Any]], output: str, to: Path | None) -> None:
    """Write rows to a file or stdout.

    Raises
    ------
    UsageError
        If the file cannot be written.

    """
    try:
        if output == "parquet":
            write_parquet(rows, to)
            return
        text = make_table(rows) + "\n" if output == "text" else make_lines(rows)
        if to is None:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            to.write_text(text, encoding="utf-8")
    except OSError as error:
        if to is None:
            raise
        raise UsageError(f"--to must be a writable file, got {str(to)!r}: {error.strerror}") from error


def make_lines(rows: list[dict[str, Any]]) -> str:
    """Return rows as JSON lines."""
    options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
    return b"".join(orjson.dumps(row, option=options, default=str) for row in rows).decode()


def make_table(rows: list[dict[str, Any]]) -> str:
    """Return rows as a table, features in one column."""
    named = [name for name in ("origin", "key", "slice") if any(row[name] for row in rows)]
    lines = []
    for rank, row in enumerate(rows, 1):
        replays = "-" if row["replays"] is None else f"{row['replays']:,}"
        numbers = [str(rank), f"{row['loss']:.3f}", f"{100 * row['weight']:.2f} %", replays]
        known = [row[name] or "" for name in named]
        values = " ".join(f"{name}={show(value)}" for name, value in (row["row"] or rounded(row["x"])).items())
        lines.append([*numbers, f"{row['age']:,}", str(row["y"]), *known, shorten(values, ROW_WIDTH)])
        for part in row.get("reasons", [])[:SHOWN_REASONS]:
            reason = f"  {part['contribution']:+.2f}  {part['condition']}"
            lines.append([*[""] * (6 + len(named)), shorten(reason, ROW_WIDTH)])
    header = ["rank", "loss", "weight", "replays", "age", "label", *named, "row"]
    return format_table(header, lines, left=range(6, len(header)))


def rounded(x: dict[str, Any]) -> dict[str, str]:
    """Return numbers that are unscaled, or standardised, with the digits that mean something."""
    return {name: f"{value:.4g}" if isinstance(value, float) else str(value) for name, value in x.items()}


def show(value: Any) -> str:
    """Return a value of a row as text."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def write_parquet(rows: list[dict[str, Any]], to: Path | None) -> None:
    """Write rows with one column for each feature, named `x.` and its name, and one for each column as it was read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = dict.fromkeys(name for row in rows for name in row["x"])
    columns = {key: [row[key] for row in rows] for key in ("loss", "weight", "probability", "replays", "age", "y", "w")}
    columns |= {key: pa.array([row[key] for row in rows], pa.string()) for key in ("origin", "key", "slice")}
    columns |= {f"x.{name}": [row["x"].get(name) for row in rows] for name in names}
    read = dict.fromkeys(name for row in rows for name in row["row"] or ())
    columns |= {f"row.{name}": [(row["row"] or {}).get(name) for row in rows] for name in read}
    pq.write_table(pa.table(columns), to)
