"""Whether a checkpoint holds a run that can be gone on with: asked by whoever loads one, and by `maxloss verify`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stream_maxloss.checkpoint import Content, Report, take_model
from stream_maxloss.checkpoint.reader import verify_checkpoint
from stream_maxloss.described import UNFIT
from stream_maxloss.errors import CheckpointError, SourceError, StreamMaxlossError
from stream_maxloss_connectors.positions import check_entry, is_count, is_names, is_text, or_none

__all__ = ["LOG", "check_classes", "check_outside", "check_session", "label_position", "open_saved", "verify_run"]

LOG = "_log"
"""Name of a service's log among the partitions of a position; other sources keep away from it."""

_RUN_PARTS = ("run", "row_form", "board", "source_name", "bad_records")

UNOPENED: Any = object()
"""In place of a source, which is not asked."""

SETTINGS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("target", "positive", "weight", "slice-by"), or_none(is_text)),
    **dict.fromkeys(("features", "exclude", "metric"), is_names),
    "delay": is_count,
}
MORE_SETTINGS = {**dict.fromkeys(("key", "time", "label-ttl", "task"), is_text), "keep": is_names}
"""Settings that not every run has."""

FORM: dict[str, Callable[[Any], bool]] = {
    "schema": lambda schema: (
        schema is None or (isinstance(schema, list) and all(is_names(field) and len(field) == 2 for field in schema))
    ),
    "features": is_names,
    "label_type": or_none(is_text),
}


def open_saved(content: Content, allow_pickle: bool = False) -> Any:
    """Return the model of a checkpoint, once all else in it is known to be what a run can go on with.

    Raises
    ------
    CheckpointError
        If it is not, or the model is a pickle and that is not allowed.

    """
    check_outside(content)
    model = take_model(content, allow_pickle=allow_pickle)
    check_session(content, model)
    return model


def verify_run(path: Path, allow_pickle: bool = False) -> Report:
    """Check the checkpoint in one directory, as loading it would, without changing anything.

    A pickle that is not allowed is not opened; all else is checked that does not need the model.
    """

    def load(content: Content) -> None:
        if "model" in content.blobs and not allow_pickle:
            check_outside(content)
        elif "model" in content.blobs or "model.description" in content.values or is_run(content):
            open_saved(content, allow_pickle)

    return verify_checkpoint(path, use=load)


def is_run(content: Content) -> bool:
    """Return whether a checkpoint is one of a run, and not one of a model alone."""
    return "source" in content.sources or any(part in content.values for part in _RUN_PARTS)


def check_outside(content: Content) -> None:
    """Raise CheckpointError unless settings, row form, positions and outputs of a run can be ones that were saved."""
    if not is_run(content):
        return
    values = content.values
    check_fields("run", values.get("run"), SETTINGS)
    for name, check in MORE_SETTINGS.items():
        found = values["run"].get(name)
        require(found is None or check(found), f"'run' must have a possible {name!r}", found)
    check_fields("row_form", values.get("row_form"), FORM)
    for name in ("rows", "learned"):
        require(is_count(content.counters.get(name)), f"{name!r} must be a number of rows", content.counters.get(name))
    require(isinstance(values.get("source_name"), str), "'source_name' must be a text", values.get("source_name"))
    require(isinstance(values.get("named_metrics", True), bool), "'named_metrics' must be yes or no", "something else")
    require("source" in content.sources, "the source's position must be there", sorted(content.sources))
    check_positions(content)
    if has_late_labels(content):
        label_position(content)


def has_late_labels(content: Content) -> bool:
    """Return whether labels came from a source of their own; a part of what tells may have been taken out."""
    return content.values["run"].get("label-ttl") is not None or "late" in content.values


def label_position(content: Content) -> dict[str, Any]:
    """Return where the source of labels stands; CheckpointError if the checkpoint does not say it."""
    position = content.sources.get("labels")
    if not isinstance(position, dict):
        raise CheckpointError(
            f"a checkpoint must hold the position of the labels, got {position!r}; use another checkpoint"
        )
    return position


def check_log(position: Any) -> Any:
    """Return a position without that in a service's log, which may be all there is; a bad one is a SourceError."""
    if not isinstance(position, dict) or LOG not in position:
        return position
    check_entry(LOG, position[LOG], next=is_count, schema=or_none(is_text))
    return {name: place for name, place in position.items() if name != LOG}


def check_positions(content: Content) -> None:
    """Raise CheckpointError unless the positions of source and sinks can be ones that were saved."""
    from stream_maxloss_connectors.saved import check_saved_sink, check_saved_source

    values, outputs = content.values, {}
    try:
        position = check_log(content.sources["source"])
        if position != {}:
            check_saved_source(values["source_name"], position)
        check_entry("bad records", values.get("bad_records"), count=is_count, seen=is_count, length=is_count)
        if "predictions" in values:
            saved = check_entry("predictions", values["predictions"], uri=is_text)
            check_saved_sink(saved["uri"], saved.get("position"))
            outputs = {saved["uri"]: saved["position"]["length"]} if "length" in saved["position"] else {}
    except SourceError as error:
        raise CheckpointError(str(error)) from error
    require(content.outputs == outputs, f"its outputs must be {sorted(outputs)}", content.outputs)


def check_session(content: Content, model: Any) -> None:
    """Raise CheckpointError unless a session of this model would take over what the checkpoint has of one."""
    if not is_run(content):
        return
    from stream_maxloss.run.alerts import Alerts
    from stream_maxloss.run.columns import Columns
    from stream_maxloss.run.history import History
    from stream_maxloss.run.metrics import make_metrics
    from stream_maxloss.run.session import Session
    from stream_maxloss.run.store import take_over
    from stream_maxloss_connectors import BadRecords

    saved = content.values["run"]
    Alerts(()).load_state_dict(content.values.get("alerts"))
    columns = Columns(saved["target"], saved["weight"], saved["slice-by"], key=saved.get("key"), time=saved.get("time"))
    options: dict[str, Any] = {name: saved.get(name) for name in ("positive", "task", "delay")}
    if has_late_labels(content):
        options |= {"labels": UNOPENED, "label_ttl": saved.get("label-ttl") or "100000"}
    try:
        metrics = make_metrics(saved["metric"], model)
    except StreamMaxlossError as error:
        if content.values.get("named_metrics", True):
            raise CheckpointError(f"the checkpoint must name the metrics of a run, got: {error}") from error
        return  # those of a program, which alone can make them
    try:
        session = Session(model, UNOPENED, columns, metrics, BadRecords("skip"), **options)
    except (StreamMaxlossError, *UNFIT) as error:
        raise CheckpointError(f"the checkpoint must hold the settings of a run, got: {error}") from error
    try:
        take_over(session, content, {"history": History()})
    except CheckpointError:
        if content.values.get("named_metrics", True):
            raise


def check_classes(model: Any, label_type: str | None) -> None:
    """Raise CheckpointError unless the classes of a model that has learned some are of the type that labels had."""
    kinds: dict[str, tuple[type, ...]] = {"bool": (bool, int, float), "string": (str,), "int64": (int,)}
    classes = getattr(model, "classes", None)
    if not isinstance(classes, list | tuple) or label_type not in kinds:
        return
    for label in classes:
        is_fit = isinstance(label, kinds[label_type]) and (label_type != "bool" or label in (0, 1))
        require(is_fit, f"its classes must be of the type {label_type}", label)


def check_fields(name: str, found: Any, fields: Mapping[str, Callable[[Any], bool]]) -> None:
    """Raise CheckpointError unless a part of a checkpoint has all of these fields, each as it should be."""
    require(isinstance(found, dict), f"{name!r} must have named fields", found)
    for field, check in fields.items():
        require(field in found, f"{name!r} must have the field {field!r}", sorted(map(str, found)))
        require(check(found[field]), f"{name!r} must have a possible {field!r}", found[field])


def require(holds: bool, constraint: str, value: Any) -> None:
    """Raise CheckpointError unless something holds."""
    if not holds:
        # A hostile number of many digits could not even be printed.
        shown = "a huge number" if isinstance(value, int) and abs(value) >= 1 << 62 else repr(value)
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        raise CheckpointError(f"a checkpoint is not one of a run: {constraint}, got {shown}; use another checkpoint")
