"""`maxloss export`: a model for other programs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from stream_maxloss.cli.options.checkpoint import checkpoint_argument
from stream_maxloss.cli.options.group import Command

__all__ = ["export"]

AS_READ = ("number", "category", "flag", "raw", "none")
"""Kinds of columns that are features as they are."""


@click.command(cls=Command)
@checkpoint_argument
@click.option("--to", "form", metavar="onnx|json", default="json", help="The form.")
@click.option("--file", "-f", metavar="FILE", type=click.Path(path_type=Path), help="Where to; JSON goes to stdout.")
def export(checkpoint: Path, form: str, file: Path | None) -> None:
    """Write the model of a checkpoint for other programs.

    ONNX is for our linear learners, scaled and focused: one input for each column as it is read, texts included. JSON
    has the weights, thresholds and statistics of any model of ours, and for a linear one all that a prediction needs.
    """
    import orjson

    from stream_maxloss.cli.options.checkpoint import open_model, read_content
    from stream_maxloss.cli.options.usage import require_choice
    from stream_maxloss.errors import UsageError
    from stream_maxloss.run.linear_form import linear_form, model_as_json
    from stream_maxloss.run.store import saved_intake

    require_choice("--to", form, ("onnx", "json"))
    if form == "onnx" and file is None:
        raise UsageError("--to onnx must come with a file; add --file model.onnx")
    content = read_content(checkpoint)
    model = open_model(content, False)
    features, plans = content.values.get("row_form", {}).get("features", []), saved_intake(content.values.get("intake"))
    # Of dates, words and lists features are made, and no other program knows how.
    columns = [name for name in features if name not in plans.plans or plans.plans[name].kind in AS_READ]
    if form == "onnx":
        from stream_maxloss.run.onnx_graph import onnx_bytes

        data = onnx_bytes(linear_form(model, columns))
    else:
        data = orjson.dumps(model_as_json(model, columns), option=orjson.OPT_APPEND_NEWLINE, default=str)
    if file is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        file.write_bytes(data)
    except OSError as error:
        raise UsageError(f"--file must be a writable file, got {str(file)!r}: {error.strerror}") from error
