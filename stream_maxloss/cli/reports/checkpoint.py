"""What `maxloss inspect` shows of a checkpoint."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from stream_maxloss.checkpoint import Content
from stream_maxloss.cli.options.checkpoint import open_model, pickled_name, read_content
from stream_maxloss.cli.options.models import auto_part, focused_part
from stream_maxloss.cli.options.usage import require_choice
from stream_maxloss.cli.reports.experts import leaders
from stream_maxloss.cli.reports.messages import Messages
from stream_maxloss.cli.reports.text_table import format_bytes, shorten
from stream_maxloss.keyed import Keyed
from stream_maxloss.run.certificate import describe_certificate, promoted
from stream_maxloss.run.saved import check_outside

__all__ = ["describe_checkpoint", "run_inspect"]

HIDDEN = ("schema", "header", "file")
"""Parts of a position that say nothing to people."""


def run_inspect(path: Path, count: int, output: str, allow_pickle: bool) -> None:
    """Print what a checkpoint holds."""
    require_choice("--output", output, ("text", "jsonl"))
    Messages().catch_all()
    found = describe_checkpoint(read_content(path), count, allow_pickle)
    if output == "jsonl":
        options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
        sys.stdout.buffer.write(orjson.dumps(found, option=options, default=str))
        sys.stdout.buffer.flush()
    else:
        print("\n".join(lines_of(found)))  # noqa: T201


def describe_checkpoint(content: Content, count: int, allow_pickle: bool) -> dict[str, Any]:
    """Return what a checkpoint holds, as plain values."""
    origin = content.origin
    found: dict[str, Any] = {}
    if origin is not None:
        found["checkpoint"] = {
            "number": origin.seq,
            "written": origin.created_at,
            "run": origin.run_id,
            "format": origin.format_version,
            "by": dict(origin.libraries),
        }
    if "model" in content.blobs and not allow_pickle:
        check_outside(content)
        found["model"] = {"class": f"{pickled_name(content)}, a pickle that was not opened (--allow-pickle opens it)"}
    else:
        found |= describe_model(open_model(content, allow_pickle), count)
    run = content.values.get("run", {})
    found["run"] = {name: value for name, value in run.items() if name != "model" and value not in (None, [], 0)}
    found["counters"] = dict(content.counters)
    if "source_name" in content.values:
        found["source"] = content.values["source_name"]
    found["positions"] = {
        partition: visible(position)
        for source in content.sources.values()  # that of the rows, and of labels that come later
        for partition, position in source.items()
        if not partition.startswith("_")
    }
    found["outputs"] = dict(content.outputs)
    return found


def visible(position: Any) -> Any:
    """Return the part of a position that says something to people, without levels.

    Examples
    --------
    >>> from stream_maxloss.cli.reports.checkpoint import visible
    >>> visible({"path": "a.csv", "at": {"offset": 12, "header": ["x"]}, "schema": "...", "gaps": 0})
    {'path': 'a.csv', 'offset': 12, 'gaps': 0}

    """
    if not isinstance(position, Mapping):
        return position
    found: dict[str, Any] = {}
    for name, value in position.items():
        if isinstance(value, Mapping) and name not in HIDDEN:
            found |= visible(value)
        elif name not in HIDDEN:
            found[name] = value
    return found


def describe_model(model: Any, count: int) -> dict[str, Any]:
    """Return what a model is, its largest weights, and the state of its focus."""
    if isinstance(model, Keyed):
        inside = describe_model(model.template, 0)["model"]
        return {"model": {**inside, "class": f"{type(model).__name__}({inside['class']})"}, "keys": model.describe()}
    certificate = describe_certificate(model)
    model = promoted(model)
    focused = focused_part(model)
    last = model._last_step if hasattr(model, "_last_step") else model
    learner = last if focused is None else focused._wrapped_model
    steps = [type(step).__name__ for step in model.steps.values()] if hasattr(model, "steps") else [type(last).__name__]
    inside = f"({type(learner).__name__})" if focused is not None else ""
    found: dict[str, Any] = {"model": {"class": " | ".join(steps) + inside}}
    for part in [*([focused] if focused is not None else []), learner]:
        inner = ("classifier", "regressor", "model")
        params = {name: value for name, value in part._get_params().items() if name not in inner}
        found["model"][type(part).__name__] = {name: plain(value) for name, value in params.items()}
    weights = getattr(learner, "weights", None)
    if isinstance(weights, Mapping):
        if any(isinstance(value, Mapping) for value in weights.values()):  # those of each class
            weights = {f"{label}: {name}": value for label, own in weights.items() for name, value in own.items()}
        largest = sorted(weights.items(), key=lambda item: (-abs(item[1]), str(item[0])))[:count]
        found["weights"] = {
            "features": len(weights),
            "norm": math.sqrt(sum(value * value for value in weights.values())),
            "intercept": plain(getattr(learner, "intercept", None)),
            "largest": {str(name): float(value) for name, value in largest},
        }
    if auto_part(model) is not None:
        chosen = sorted(learner.weights().items(), key=lambda item: -item[1])[:count]
        found["experts"] = {
            "rows": learner.n_rows,
            "memory_bytes": learner.memory_bytes,
            "focus": learner.focus_weight(),
            "leaders": {str(rows): name for rows, name in leaders(learner).items()},
            "largest": dict(chosen),
        }
        if hasattr(learner, "classes"):
            found["model"]["classes"] = ", ".join(map(str, learner.classes))
    if certificate is not None:
        found["certificate"] = certificate
    if focused is not None:
        found["window"] = focused.describe()
    return found


def plain(value: Any) -> Any:
    """Return a parameter as JSON can express it."""
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)


def lines_of(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines that people read."""
    for section, entries in found.items():
        if not isinstance(entries, Mapping):
            yield f"{section:<12}{entries}"
            continue
        for number, (name, value) in enumerate(entries.items()):
            heading = section if number == 0 else ""
            if name == "largest":
                yield f"{heading:<12}largest"
                width = max((len(feature) for feature in value), default=0)
                yield from (f"{'':<14}{feature:<{width}}  {weight:+.4f}" for feature, weight in value.items())
            else:
                yield f"{heading:<12}{name} {show(name, value)}"


def show(name: str, value: Any) -> str:
    """Return an entry on one line."""
    if isinstance(value, Mapping):
        return shorten(", ".join(f"{key}={show(str(key), inner)}" for key, inner in value.items()), 200)
    if name.endswith("_bytes"):
        return format_bytes(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
