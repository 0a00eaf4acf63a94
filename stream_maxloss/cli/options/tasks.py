"""What the target is, for the model `auto`: from the options, the checkpoint or the first rows of the source."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stream_maxloss.cli.options.usage import require_choice
from stream_maxloss.errors import StreamMaxlossError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from stream_maxloss.cli.options.models import ModelSettings
    from stream_maxloss.cli.options.source import SourceOptions
    from stream_maxloss.run.task import Task

__all__ = [
    "choose_task",
    "is_settled",
    "read_head",
    "require_task",
    "resumed_model",
    "resumed_task",
    "saved_run",
]

WAIT = 1.0
"""Seconds to wait for the first rows."""


def choose_task(
    head: pa.RecordBatch | None, target: str, positive: str | None, asked: str | None, is_auto: bool = True
) -> Task | None:
    """Return what a target is; None where the first rows cannot be seen beforehand, as on standard input.

    Parameters
    ----------
    head
        The first rows, or None.
    target, positive
        What the options say.
    asked
        What `--task` says.
    is_auto
        Whether the model may also be one of numbers.

    Raises
    ------
    UsageError
        If the target is a number and the model wants classes.

    """
    from stream_maxloss.run.task import Task, find_task

    if positive is not None:
        return Task("binary")
    if head is not None and target in head.schema.names:
        found = find_task(head.column(target), target, asked)
        if found.kind == "number" and not is_auto:
            raise UsageError(
                f"target {target!r} must be classes for this model, got numbers; use --model auto, or --task class"
            )
        return found
    return None if asked is None else Task(asked)


def require_task(asked: str | None, positive: str | None, is_auto: bool, takes_classes: bool = False) -> None:
    """Refuse a task that cannot be."""
    if asked is None:
        return
    require_choice("--task", asked, ("class", "number"))
    if not is_auto and not (takes_classes and asked == "class"):
        raise UsageError(f"--task must come with the model auto, got {asked!r}; a learner takes one kind of target")
    if positive is not None:
        raise UsageError(f"--task must not come with --positive, got {asked!r}; one value against the rest is binary")


def read_head(options: SourceOptions, columns: list[str] | None = None, **reading: Any) -> pa.RecordBatch | None:
    """Return the first rows, or None where they cannot be read without losing rows, or are not there.

    What is wrong with the source is left to the run, which says so.

    Parameters
    ----------
    options
        What the options say.
    columns, reading
        As for `SourceOptions.open`.

    """
    import pyarrow as pa

    from stream_maxloss.intake.nested import flatten
    from stream_maxloss.run.task import HEAD_ROWS
    from stream_maxloss_connectors import BadRecords

    if "-" in options.sources:
        return None
    parts: list[Any] = []
    bad = BadRecords("skip")
    with contextlib.suppress(StreamMaxlossError, pa.ArrowInvalid), options.open(bad, columns, **reading) as source:
        source.open()
        while (missing := HEAD_ROWS - sum(part.num_rows for part in parts)) > 0:
            batch = source.next_batch(missing, WAIT)
            if batch is None or (parts and not batch.records.schema.equals(parts[0].schema)):
                break
            parts.append(batch.records)
    return flatten(pa.concat_batches(parts)) if parts else None


def saved_run(directory: Path | None) -> dict[str, Any] | None:
    """Return the settings of the run whose checkpoints are in a directory; None where there are none that are whole."""
    from stream_maxloss.cli.options.saved import saved_content

    content = None if directory is None else saved_content(directory)
    found = None if content is None else content.values.get("run")
    return found if isinstance(found, dict) else None


def resumed_model(model: ModelSettings, saved: dict[str, Any] | None, is_default: bool) -> ModelSettings:
    """Return the model that a run goes on with where none was named: `HingeOGD` where the checkpoint is not of `auto`.

    That was the model of a run without `--model` before there was `auto`.
    """
    # Anywhere in it: what earns a certificate has the model inside.
    is_other = saved is not None and not re.search("Auto(Classifier|Regressor)", str(saved.get("model")))
    return replace(model, name="HingeOGD") if is_default and is_other else model


def is_settled(saved: dict[str, Any] | None, asked: str | None, positive: str | None) -> bool:
    """Return whether the run that goes on has decided what its target is, or to take labels as they come.

    The latter it does where it could not see its first rows: those that came meanwhile must not decide otherwise.
    """
    return saved is not None and asked is None and positive is None


def resumed_task(saved: dict[str, Any] | None, asked: str | None, positive: str | None) -> Task | None:
    """Return what the target was taken for by the run that goes on; None where that is not known, or asked anew."""
    from stream_maxloss.run.task import Task

    kind = None if saved is None else saved.get("task")
    if saved is None or kind is None or positive is not None:
        return None
    if asked is not None and (asked == "number") != (kind == "number"):
        return Task(asked)
    return Task(kind, tuple(saved.get("metric", ())))
