"""The hardest rows of a checkpoint, as a table, JSON lines or Parquet."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import orjson

from stream_maxloss.cli.checkpoint_argument import open_model, read_content
from stream_maxloss.cli.messages import Messages
from stream_maxloss.cli.models import focused_part
from stream_maxloss.cli.text_table import format_table, shorten
from stream_maxloss.errors import CheckpointError
from stream_maxloss.focus.focused import HardRow

__all__ = ["find_scaler", "show_hard", "unscale"]

ROW_WIDTH = 100


def show_hard(path: Path, count: int, scaled: bool, output: str, to: Path | None, allow_pickle: bool) -> None:
    """Print or write the hardest rows."""
    if output not in ("text", "jsonl", "parquet"):
        raise ValueError(f"--output must be text, jsonl or parquet, got {output!r}")
    if output == "parquet" and to is None:
        raise ValueError("--output parquet must come with a file; add --to hard.parquet")
    messages = Messages()
    messages.catch_warnings()
    content = read_content(path)
    model = open_model(content, allow_pickle)
    focused = focused_part(model)
    if focused is None:
        raise CheckpointError(
            f"{path} must hold a focused model, got {type(model).__name__} without a window; train it with --focus"
        )
    scaler = find_scaler(model)
    rows = [to_dict(row, None if scaled else scaler) for row in focused.hardest(count)]
    write(rows, output, to)
    if scaler is not None and not scaled and rows:
        messages.say("numbers are turned back by the scaler's mean and deviation of now, which is not exact (--scaled)")
    if not rows:
        messages.say("the window is empty: no row was learned yet")


def find_scaler(model: Any) -> Any | None:
    """Return the scaler in front of a focus, or None."""
    from stream_maxloss.linear import Scaler

    steps = getattr(model, "steps", {})
    return next((step for step in steps.values() if isinstance(step, Scaler)), None)


def unscale(x: dict[Any, Any], scaler: Any) -> dict[Any, Any]:
    """Return a row as it was before it was standardised, by the mean and deviation of now.

    Mean and deviation have moved since the row came, so digits below a thousandth of the deviation are rounded away.

    Examples
    --------
    >>> from stream_maxloss.cli.hard_rows import unscale
    >>> from stream_maxloss.linear import Scaler
    >>> scaler = Scaler()
    >>> for size in (1.0, 2.0, 3.0):
    ...     scaler.learn_one({"size": size})
    >>> unscale({"size": scaler.transform_one({"size": 3.0})["size"], "shape=round": 1.0}, scaler)
    {'size': 3.0, 'shape=round': 1.0}

    """
    means, variances = scaler.means, scaler.variances
    row = dict(x)
    for name in means.keys() & x.keys():
        deviation = math.sqrt(variances[name])
        digits = 2 - math.floor(math.log10(deviation)) if deviation else 15
        row[name] = round(x[name] * deviation + means[name], digits) + 0.0  # no negative zero
    return row


def to_dict(row: HardRow, scaler: Any | None) -> dict[str, Any]:
    """Return a row as plain values."""
    x = row.x if scaler is None else unscale(row.x, scaler)
    return {
        "loss": row.loss,
        "weight": row.weight,
        "probability": row.probability,
        "replays": row.replays,
        "age": row.age,
        "y": row.y,
        "w": row.w,
        "x": {str(name): value for name, value in x.items()},
    }


def write(rows: list[dict[str, Any]], output: str, to: Path | None) -> None:
    """Write rows to a file or stdout.

    Raises
    ------
    ValueError
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
        raise ValueError(f"--to must be a writable file, got {str(to)!r}: {error.strerror}") from error


def make_lines(rows: list[dict[str, Any]]) -> str:
    """Return rows as JSON lines."""
    options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
    return b"".join(orjson.dumps(row, option=options, default=str) for row in rows).decode()


def make_table(rows: list[dict[str, Any]]) -> str:
    """Return rows as a table, features in one column."""
    lines = []
    for rank, row in enumerate(rows, 1):
        numbers = [str(rank), f"{row['loss']:.3f}", f"{100 * row['weight']:.2f} %", f"{row['replays']:,}"]
        values = " ".join(f"{name}={show(value)}" for name, value in row["x"].items())
        lines.append([*numbers, f"{row['age']:,}", str(row["y"]), shorten(values, ROW_WIDTH)])
    return format_table(["rank", "loss", "weight", "replays", "age", "label", "row"], lines, left=(6,))


def show(value: Any) -> str:
    """Return a value of a row as text."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write_parquet(rows: list[dict[str, Any]], to: Path | None) -> None:
    """Write rows with one column for each feature, named `x.` and its name."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = dict.fromkeys(name for row in rows for name in row["x"])
    columns = {key: [row[key] for row in rows] for key in ("loss", "weight", "probability", "replays", "age", "y", "w")}
    columns |= {f"x.{name}": [row["x"].get(name) for row in rows] for name in names}
    pq.write_table(pa.table(columns), to)
