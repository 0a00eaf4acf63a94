"""`maxloss export`: a model for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from stream_maxloss.cli.options.checkpoint import checkpoint_argument
from stream_maxloss.cli.options.group import Command

__all__ = ["export"]


@click.command(cls=Command)
@checkpoint_argument
@click.option("--to", "form", metavar="onnx|json", default="json", help="Output format.")
@click.option(
    "--file", "-f", metavar="FILE", type=click.Path(path_type=Path), help="Output file; JSON may go to stdout."
)
def export(checkpoint: Path, form: str, file: Path | None) -> None:
    """Write the model of a checkpoint for other programs.

    ONNX is for auto, linear learners (scaled, focused, behind bins and ferns) and mixtures of them: one input for each
    column as it is read, texts included. JSON has the weights, thresholds and statistics of any model of ours, and for
    a linear one all that a prediction needs.
    """
    import orjson

    from stream_maxloss.cli.options.checkpoint import open_model, read_content
    from stream_maxloss.cli.options.usage import require_choice
    from stream_maxloss.errors import UsageError
    from stream_maxloss.run.linear_form import model_as_json
    from stream_maxloss_connectors import refuse_clashing_outputs
    from stream_maxloss_connectors.file_kinds import require_file

    require_choice("--to", form, ("onnx", "json"))
    refuse_clashing_outputs({"the model": file}, checkpoint)
    if form == "onnx" and file is None:
        raise UsageError("--to onnx must come with a file; add --file model.onnx")
    content = read_content(checkpoint)
    model = open_model(content, False)
    numbers, texts = read_columns(content)
    if form == "onnx":
        from stream_maxloss.run.onnx import onnx_model

        made = onnx_model(model, numbers, texts)
        data = made.data
        say_inputs(made.made, made.words)
    else:
        columns = [*numbers, *(name for name, width in texts.items() if width == 1)]
        data = orjson.dumps(model_as_json(model, columns), option=orjson.OPT_APPEND_NEWLINE, default=str)
    if file is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    require_file(file, "--file", "name a file", devices=True)
    try:
        file.write_bytes(data)
    except OSError as error:
        raise UsageError(f"--file must be a writable file, got {str(file)!r}: {error.strerror}") from error


def read_columns(content: Any) -> tuple[list[str], dict[str, int | None]]:
    """Return the columns of numbers, and those of text with how many texts a row has of each, None for any number."""
    from stream_maxloss.run.store import saved_intake

    features = content.values.get("row_form", {}).get("features", [])
    plans = saved_intake(content.values.get("intake")).plans
    kinds = {name: plans[name].kind if name in plans else "raw" for name in features}
    numbers = [name for name, kind in kinds.items() if kind in ("number", "flag", "raw")]
    texts: dict[str, int | None] = {name: 1 for name, kind in kinds.items() if kind in ("category", "raw")}
    return numbers, texts | {name: None for name, kind in kinds.items() if kind in ("text", "texts")}


def say_inputs(made: list[str], words: list[str]) -> None:
    """Say which inputs are not columns as they are read."""
    from stream_maxloss.cli.reports.messages import Messages

    if made:
        some = f"{', '.join(made[:3])}{', ...' if len(made) > 3 else ''}"
        Messages().say(f"inputs made of columns, as docs/columns.md says how: {some}")
    if words:
        Messages().say(f"inputs that are the words or texts of a row, filled up with empty ones: {', '.join(words)}")
