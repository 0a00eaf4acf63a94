"""The run that predicts with the model of a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream_maxloss.cli.options.source import BadRecordOptions, SourceOptions
from stream_maxloss.run import Columns, Tail, TextValues, load_run
from stream_maxloss.run.certificate import promoted
from stream_maxloss.run.store import parse_type, saved_intake
from stream_maxloss_connectors import refuse_clashing_outputs

if TYPE_CHECKING:
    from stream_maxloss_connectors import BadRecords, Sink

__all__ = ["predicting_run"]


def predicting_run(
    source: SourceOptions,
    checkpoint: Path,
    allow_pickle: bool,
    *,
    target: str | None = None,
    slice_by: str | None = None,
    key: str | None = None,
    time: str | None = None,
    keep: Sequence[str] = (),
    metrics: tuple[str, ...] = (),
    limit: int | None = None,
    bad_records: BadRecords | None = None,
    sink: Callable[[bool], Sink] | None = None,
) -> Tail:
    """Return the run that predicts the rows of a source with the model of a checkpoint and learns nothing.

    `sink` makes the one for predictions, and is told whether they carry a key.
    """
    loaded, settings, content = load_run(checkpoint, allow_pickle)
    form: dict[str, Any] = content.values.get("row_form", {})
    texts = TextValues()
    texts.load_state_dict(content.values.get("texts"))
    # The key of the run is carried where the rows have it; columns to keep are those that are asked for.
    columns = Columns(
        target,
        None,
        slice_by,
        tuple(form.get("features", ())),
        key=key or settings.get("key"),
        time=time or settings.get("time"),
        keep=tuple(keep),
        may_lack=tuple(name for name, given in (("key", key), ("time", time)) if given is None),
    )
    bad_records = BadRecordOptions().make() if bad_records is None else bad_records
    written = None if sink is None else sink(columns.key is not None)
    refuse_clashing_outputs({"predictions": written, "dead letters": bad_records}, checkpoint)
    return Tail(
        source.open(bad_records),
        promoted(loaded),
        columns,
        metrics=metrics or settings.get("metric"),
        positive=settings.get("positive") if target is not None else None,
        task=settings.get("task"),
        limit=limit,
        learn=False,
        bad_records=bad_records,
        predictions=written,
        report_every=None,
        texts=texts,
        intake=saved_intake(content.values.get("intake")),
        label_type=parse_type(form["label_type"]) if form.get("label_type") else None,
    )
