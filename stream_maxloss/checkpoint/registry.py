"""Saving and loading models without pickle.

A model is written as what it is (`describe`) and what it learned (`state_dict`). An estimator that can be registered
has, in addition to River's `_get_params()`:

- `state_dict() -> dict[str, numpy.ndarray | JSON-able]`: all that it learned, flat; the state of a part that it wraps
  under dotted names (`classifier.weights`);
- `load_state_dict(state) -> None`: takes that up in a fresh object of the same parameters, and raises `ValueError`,
  `TypeError` or `KeyError` if it does not fit;
- if most of what it learned lies in files that checkpoints are to share: `put_files(files) -> state`, which adds them
  and returns the rest, and `take_files(files)`, called before `load_state_dict` of that rest.
"""

from __future__ import annotations

import fnmatch
import math
import os
import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from stream_maxloss.checkpoint.content import Content, State
from stream_maxloss.checkpoint.damage import RefusedError
from stream_maxloss.checkpoint.description import (
    ForeignModelError,
    build,
    describe,
    infinite_patterns,
    is_pipeline,
    parts_of,
)
from stream_maxloss.checkpoint.manifest import MANIFEST_FILE
from stream_maxloss.checkpoint.reader import read_checkpoint
from stream_maxloss.checkpoint.store import CheckpointStore
from stream_maxloss.described import UNFIT
from stream_maxloss.errors import CheckpointError
from stream_maxloss.state import join_parts

__all__ = ["load", "load_metadata", "load_state_of", "put_model", "save", "state_of", "take_model"]

Target = str | os.PathLike[str] | CheckpointStore


def save(target: Target, model: Any, *, allow_pickle: bool = False, **metadata: Any) -> int:
    """Save a model, durably and atomically, and return the number of the checkpoint.

    Parameters
    ----------
    target
        A directory, which keeps the last three, or a `CheckpointStore` that is locked.
    model
        One of our estimators, or a River pipeline of them; any other River model only as a pickle.
    allow_pickle
        Whether a model that is not ours may be pickled.
    metadata
        Anything that JSON can express; `load_metadata` gives it back.

    Raises
    ------
    CheckpointError
        If the model is not ours and no pickle is allowed, or it cannot be written.
    ValueError
        If the model holds NaN or an infinity where it must not.

    """
    content = Content(values={"metadata": metadata})
    put_model(content, model, allow_pickle=allow_pickle)
    if isinstance(target, CheckpointStore):
        return target.save(content, allow_pickle=allow_pickle)
    with CheckpointStore(target) as store:
        return store.save(content, allow_pickle=allow_pickle)


def load(target: Target, *, allow_pickle: bool = False) -> Any:
    """Return the model of the newest whole checkpoint.

    Parameters
    ----------
    target
        A directory of checkpoints, the directory of a single one, or a `CheckpointStore`.
    allow_pickle
        Whether a pickle may be loaded. A pickle runs any code its author liked: allow only what you wrote yourself.

    Raises
    ------
    CheckpointError
        If there is none that can be loaded.

    """
    return take_model(_load_content(target, allow_pickle), allow_pickle=allow_pickle)


def load_metadata(target: Target) -> dict[str, Any]:
    """Return what `save` was given along with the model. A pickle beside it is not opened."""
    metadata: dict[str, Any] = _load_content(target, allow_pickle=True).values.get("metadata", {})
    return metadata


def _load_content(target: Target, allow_pickle: bool) -> Content:
    if isinstance(target, CheckpointStore):
        return target.load(allow_pickle=allow_pickle)
    if (Path(target) / MANIFEST_FILE).is_file():
        return read_checkpoint(Path(target), allow_pickle=allow_pickle)
    return CheckpointStore(target).load(allow_pickle=allow_pickle)


def put_model(content: Content, model: Any, name: str = "model", *, allow_pickle: bool = False) -> None:
    """Add a model to a content: its description, and its state or its pickle."""
    try:
        description = describe(model)
    except ForeignModelError:
        if not allow_pickle:
            raise
        content.values[f"{name}.description"] = {"pickle": type(model).__name__}
        content.blobs[name] = pickle.dumps(model, protocol=5)
        return
    state = state_of(model, content)
    patterns = list(infinite_patterns(description))
    _require_finite(state, patterns)
    content.put_state(name, state, [key for key in state if _matches(key, patterns)])
    content.values[f"{name}.description"] = description


def take_model(content: Content, name: str = "model", *, allow_pickle: bool = False) -> Any:
    """Return a fresh model made of what `put_model` added.

    Raises
    ------
    RefusedError
        If it is a pickle and none is allowed, or it is not what `put_model` writes.

    """
    description = content.values.get(f"{name}.description")
    if name in content.blobs:
        if not allow_pickle:
            raise RefusedError(f"{name} is a pickle; if you wrote it yourself, load it with allow_pickle=True")
        return _unpickle(content, name)
    try:
        model = build(description)
    except RecursionError as error:
        raise RefusedError(f"description of {name} must be nested less deeply") from error
    try:
        state = content.take_state(name)
        _require_finite(state, list(infinite_patterns(description)))
        if has_files(model):
            model.take_files(content.files)
        load_state_of(model, state)
    except UNFIT as error:
        raise RefusedError(f"state of {name} must fit its {type(model).__name__}, got: {error}") from error
    return model


def _unpickle(content: Content, name: str) -> Any:
    try:
        return pickle.loads(content.blobs[name])
    except Exception as error:  # A pickle can fail with anything, most often because a class moved between releases.
        versions = dict(content.origin.libraries) if content.origin else {}
        raise CheckpointError(
            f"pickle of {name} cannot be loaded: {type(error).__name__}: {error}; install what wrote it: {versions}"
        ) from error


def state_of(model: Any, content: Content | None = None) -> State:
    """Return all that a model and its parts have learned, flat; with a content, one of many models leaves most of it
    in files that are added there.
    """
    if is_pipeline(model):
        # By place and not by name: a step may be called "a.b" beside one called "a" that has a part "b".
        states = {str(place): state_of(step) for place, step in enumerate(model.steps.values())}
        own = {}
    else:
        states = {name: state_of(part) for name, part in _parts_in(model)}
        own = dict(model.put_files(content.files) if content is not None and has_files(model) else model.state_dict())
    return own | join_parts(states)


def has_files(model: Any) -> bool:
    """Return whether a model keeps part of what it learned in files that checkpoints share."""
    return callable(getattr(model, "put_files", None))


def _parts_in(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a model whose state is stored apart from its own; those of a list under their places."""
    for name in parts_of(model):
        part = getattr(model, name)
        if isinstance(part, list):
            yield from ((f"{name}.{place}", one) for place, one in enumerate(part))
        else:
            yield name, part


def load_state_of(model: Any, state: State) -> None:
    """Let a fresh model and its parts take over what `state_of` returned, whose entries are used up."""
    steps: Iterable[tuple[int | str, Any]]
    steps = enumerate(model.steps.values()) if is_pipeline(model) else _parts_in(model)
    for name, part in steps:
        prefix = f"{name}."
        # The parts first: a wrapper takes up its own state around a learner that is what it was.
        load_state_of(part, {key.removeprefix(prefix): state.pop(key) for key in list(state) if key.startswith(prefix)})
    if not is_pipeline(model):
        model.load_state_dict(state)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _require_finite(state: State, patterns: list[str]) -> None:
    for name, value in state.items():
        if not _is_finite(value) and not _matches(name, patterns):
            raise ValueError(
                f"state[{name!r}] must be finite, got {value!r:.80}; the model has diverged or was tampered with"
            )


def _is_finite(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind != "f" or bool(np.isfinite(value).all())
    if isinstance(value, list | tuple):
        return all(map(_is_finite, value))
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return not isinstance(value, float) or math.isfinite(value)
