"""What a model is, as JSON, and a model from that.

`{"class": "Perceptron", "params": {...}, "state_version": 1}`, with parts nested. Building looks the class up in a list
that only `register` adds to; a name in a file never imports anything.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from stream_maxloss.checkpoint.damage import RefusedError
from stream_maxloss.described import UNFIT
from stream_maxloss.errors import CheckpointError

__all__ = [
    "ForeignModelError",
    "build",
    "describe",
    "infinite_patterns",
    "is_pipeline",
    "parts_of",
    "register",
    "register_value",
]

Class = TypeVar("Class", bound=type)
missing = object()


@dataclass(frozen=True)
class _Registration:
    kind: type
    state_version: int
    may_be_infinite: tuple[str, ...]
    parts: tuple[str, ...] = ()
    is_value: bool = False
    formerly: Mapping[str, Any] = field(default_factory=dict)


class ForeignModelError(CheckpointError):
    """A model, or a part of it, is not registered: only a pickle can hold it."""


_registered: dict[str, _Registration] = {}
_RESERVED = ("Pipeline", "RowPipeline", "dict", "tuple")


def register(
    kind: Class,
    *,
    state_version: int = 1,
    may_be_infinite: Iterable[str] = (),
    parts: Iterable[str] = (),
    formerly: Mapping[str, Any] | None = None,
) -> Class:
    """Allow a class in checkpoints, by its bare name.

    Parameters
    ----------
    kind
        The class; its subclasses are not meant.
    state_version
        To be raised by one whenever `state_dict` changes in a way that `load_state_dict` could misread.
    may_be_infinite
        Patterns (as of a shell) of the names in its state that may hold NaN or infinities. All else must be finite,
        when saved and when loaded: a weight that is NaN spoils every prediction from then on.
    parts
        Attributes that are estimators, or lists of them, whose state its own `state_dict` leaves out: it is stored
        under their names.
    formerly
        What the class did before it had a parameter, as a value of that parameter: checkpoints lack it then.

    Raises
    ------
    ValueError
        If another class has that name.
    TypeError
        If the class lacks `state_dict` or `load_state_dict`.

    """
    name = kind.__name__
    if name in _RESERVED or (name in _registered and _registered[name].kind is not kind):
        raise ValueError(f"name of a registered class must be unique, got a second {name!r}; rename it")
    for method in ("_get_params", "state_dict", "load_state_dict"):
        if not callable(getattr(kind, method, None)):
            raise TypeError(f"a registered class must have {method}(), got {name}")
    _registered[name] = _Registration(
        kind, state_version, tuple(may_be_infinite), tuple(parts), formerly=dict(formerly or {})
    )
    return kind


def register_value(kind: Class) -> Class:
    """Allow a class as a parameter: an object without state, whose attributes are the arguments that made it."""
    name = kind.__name__
    if name in _RESERVED or (name in _registered and _registered[name].kind is not kind):
        raise ValueError(f"name of a registered class must be unique, got a second {name!r}; rename it")
    _registered[name] = _Registration(kind, 1, (), is_value=True)
    return kind


def register_own() -> None:
    """Register this library's own estimators, as soon as one may be asked for and not before: they compile kernels."""
    if "Scaler" not in _registered:
        importlib.import_module("stream_maxloss.checkpoint.estimators").register_estimators()
        # Those that need this room themselves register when they are imported.
        importlib.import_module("stream_maxloss.keyed")


def pipeline_class(name: str) -> type | None:
    """Return the kind of pipeline that a name stands for: River's own, or ours that learns batches row by row."""
    from river.compose import Pipeline

    from stream_maxloss.linear import RowPipeline

    return {"Pipeline": Pipeline, "RowPipeline": RowPipeline}.get(name)


def is_pipeline(model: Any) -> bool:
    """Return whether a model is a pipeline of one of the two kinds, and not of a subclass."""
    return type(model) is pipeline_class(type(model).__name__)


def parts_of(model: Any) -> tuple[str, ...]:
    """Return the parameters of a model whose state is stored apart from its own."""
    registration = _registration_of(model)
    return () if registration is None else registration.parts


def describe(model: Any) -> dict[str, Any]:
    """Return what a model is, without what it learned.

    Raises
    ------
    CheckpointError
        If a part of it is not registered.

    """
    register_own()
    name: str = type(model).__name__
    if is_pipeline(model):
        steps = [[step_name, describe(step)] for step_name, step in model.steps.items()]
        return {"class": name, "params": {"steps": steps}}
    registration = _registration_of(model)
    if registration is None:
        raise ForeignModelError(
            f"a model must be made of stream-maxloss's own estimators to be saved without pickle, got {name}; "
            "save it with allow_pickle=True (--allow-pickle), and load only what you wrote yourself"
        )
    if registration.is_value:
        return {"class": name, "params": {key: _describe_param(value) for key, value in vars(model).items()}}
    params = {key: _describe_param(_param(model, key, value)) for key, value in model._get_params().items()}
    # As before the class had the parameter, so that a run of then can go on.
    params = {key: value for key, value in params.items() if registration.formerly.get(key, missing) != value}
    return {"class": name, "params": params, "state_version": registration.state_version}


def build(description: Any) -> Any:
    """Return a fresh model from its description, made of registered classes only.

    Raises
    ------
    RefusedError
        If it names another class or its parameters are not accepted.

    """
    register_own()
    name, params = _class_and_params(description)
    if (pipeline := pipeline_class(name)) is not None:
        if not params.get("steps"):
            raise RefusedError(f"{name} must have at least one step, got {params!r:.100}")
        try:
            return pipeline(*((str(step), build(part)) for step, part in params["steps"]))
        except (LookupError, ValueError, TypeError) as error:
            raise RefusedError(f"{name} must have steps of a name and a model, got: {error}") from error
    registration = _registered.get(name)
    if registration is None:
        raise RefusedError(f"class must be one of {', '.join(sorted(_registered))}, got {name!r}")
    version = description.get("state_version")
    if version != registration.state_version and not registration.is_value:
        raise RefusedError(
            f"state_version of {name} must be {registration.state_version}, got {version!r}; "
            "load it with the release that wrote it"
        )
    try:
        given = {key: _build_param(value) for key, value in params.items()}
        return registration.kind(**{**registration.formerly, **given})
    except (*UNFIT, MemoryError) as error:
        raise RefusedError(f"parameters of {name} must be accepted by it, got: {error}") from error


def _param(model: Any, name: str, value: Any) -> Any:
    # River gives (class, params) for a part that is an estimator; the part itself is the attribute. For the rest the
    # attribute may be something else: `intercept` of a linear learner is what was learned, not whether to learn it.
    is_part = isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], type)
    return getattr(model, name) if is_part else value


def _registration_of(model: object) -> _Registration | None:
    registration = _registered.get(type(model).__name__)
    return registration if registration is not None and registration.kind is type(model) else None


def _describe_param(value: Any) -> Any:
    if isinstance(value, list):
        return [_describe_param(item) for item in value]
    if isinstance(value, tuple):
        return {"class": "tuple", "params": {"items": [_describe_param(item) for item in value]}}
    if isinstance(value, dict):
        return {"class": "dict", "params": {"items": [[key, _describe_param(item)] for key, item in value.items()]}}
    if value is None or isinstance(value, str | int | float | np.generic):
        return value.item() if isinstance(value, np.generic) else value
    return describe(value)


def _build_param(value: Any) -> Any:
    if isinstance(value, list):
        return [_build_param(item) for item in value]
    if not isinstance(value, dict):
        return value
    name, params = _class_and_params(value)
    if name == "tuple":
        return tuple(_build_param(item) for item in params["items"])
    if name == "dict":
        return {key: _build_param(item) for key, item in params["items"]}
    return build(value)


def _class_and_params(description: Any) -> tuple[str, dict[str, Any]]:
    name = description.get("class") if isinstance(description, dict) else None
    params = description.get("params") if isinstance(description, dict) else None
    if not isinstance(name, str) or not isinstance(params, dict):
        raise RefusedError(f"a model must be described by its class and params, got {description!r:.100}")
    return name, params


def infinite_patterns(description: Any) -> Iterator[str]:
    """Yield the patterns of a model and of all its parts, whose names in the state are dotted."""
    if isinstance(description, list):
        for item in description:
            yield from infinite_patterns(item)
    elif isinstance(description, dict):
        registration = _registered.get(str(description.get("class")))
        yield from registration.may_be_infinite if registration else ()
        for value in description.get("params", {}).values():
            yield from (f"*.{pattern}" for pattern in infinite_patterns(value))
