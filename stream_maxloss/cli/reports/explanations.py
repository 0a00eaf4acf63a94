"""What `maxloss explain` prints."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson

from stream_maxloss.cli.options.predicting import predicting_run
from stream_maxloss.cli.options.source import SourceOptions
from stream_maxloss.cli.options.usage import require_choice
from stream_maxloss.cli.reports.checkpoint import run_inspect
from stream_maxloss.cli.reports.messages import Messages
from stream_maxloss.cli.reports.text_table import shorten
from stream_maxloss.errors import UsageError
from stream_maxloss.run.explanations import Explanation, explain_row
from stream_maxloss.run.predictions import carried

__all__ = ["show_explanations"]


def show_explanations(
    checkpoint: Path,
    source: SourceOptions,
    row: str | None,
    rows: int,
    count: int,
    key: str | None,
    output: str,
    allow_pickle: bool,
) -> None:
    """Print what rows, or the model, are made of."""
    require_choice("--output", output, ("text", "jsonl"))
    Messages().catch_all()
    if row is not None and source.sources:
        raise UsageError(f"--row must not come with a source, got {source.name!r}; choose one")
    if row is None and not source.sources:
        run_inspect(checkpoint, count, output, allow_pickle)
        return
    with tempfile.TemporaryDirectory() as folder:
        if row is not None:
            source = SourceOptions((write_row(row, Path(folder)),))
        for name, explanation in explained(checkpoint, source, rows, key, allow_pickle):
            text = as_lines(name, explanation, count) if output == "text" else as_json(name, explanation, count)
            sys.stdout.write(text)
    sys.stdout.flush()


def write_row(text: str, folder: Path) -> str:
    """Write the row to a file, so that it is read as any other.

    Raises
    ------
    UsageError
        If it is no JSON object.

    """
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"--row must be a JSON object, got {text!r}: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"--row must be a JSON object, got {text!r}")
    path = folder / "row.jsonl"
    path.write_bytes(orjson.dumps(found) + b"\n")
    return str(path)


def explained(
    checkpoint: Path, source: SourceOptions, rows: int, key: str | None, allow_pickle: bool
) -> Iterator[tuple[str, Explanation]]:
    """Yield for each row its name and what its prediction is made of."""
    run = predicting_run(source, checkpoint, allow_pickle, key=key)
    left = rows
    with run:
        while left and not run.session.finished:
            batch = run.session.feed.next(left, 0.5, True, lambda: False)
            if batch is None:
                continue
            left -= len(batch)
            keys = carried(batch, run.columns).get("key")
            for place, x in enumerate(run.session.loop.engine.dicts_of(batch.X)):
                name = batch.address(place) if keys is None else str(keys[place].as_py())
                yield Path(name).name if keys is None else name, explain_row(run.model, x)


def as_lines(name: str, explanation: Explanation, count: int) -> str:
    """Return an explanation as people read it."""
    said = str(explanation.prediction)
    if explanation.probabilities:
        likely = sorted(explanation.probabilities.items(), key=lambda item: -item[1])[:5]
        said += " (" + ", ".join(f"{label} {share:.4f}" for label, share in likely) + ")"
    lines = [f"{name}: {said}"]
    lines += [f"  {part.contribution:+9.4f}  {shorten(part.condition, 100)}" for part in explanation.parts[:count]]
    rest = explanation.parts[count:]
    if rest:
        lines.append(
            f"  {sum(part.contribution for part in rest):+9.4f}  {len(rest):,} {'others' if len(rest) > 1 else 'other'}"
        )
    return "\n".join(lines) + "\n"


def as_json(name: str, explanation: Explanation, count: int) -> str:
    """Return an explanation as a JSON object."""
    probabilities = explanation.probabilities
    found = {
        "row": name,
        "prediction": explanation.prediction,
        "probabilities": None if probabilities is None else {str(name): share for name, share in probabilities.items()},
        "parts": [vars(part) for part in explanation.parts[:count]],
        "rest": sum(part.contribution for part in explanation.parts[count:]),
    }
    return orjson.dumps(found, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY, default=str).decode()
