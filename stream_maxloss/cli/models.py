"""The model that the command line names."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from stream_maxloss.cli.certify import add_certificate, inner_model
from stream_maxloss.cli.closest import closest

__all__ = [
    "FocusOption",
    "ModelOption",
    "ModelSettings",
    "ReplaysOption",
    "ScaleOption",
    "SeedOption",
    "SetOption",
    "ShareOption",
    "SlackOption",
    "WindowOption",
    "build_model",
    "focused_part",
    "parse_settings",
]

LEARNERS = (
    "AbsoluteOGD",
    "BalancedWinnow",
    "HingeOGD",
    "LLD",
    "LLM",
    "MarginPursuit",
    "Pegasos",
    "Perceptron",
    "Winnow",
)
"""The classes of `stream_maxloss.linear` that can be named; the import itself is left until one is."""

UNSCALED = ("Winnow",)  # takes features in [0, 1] only

ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="NAME|MODULE:FACTORY",
        help=f"The learner: one of {', '.join(LEARNERS)} (any case), or module:factory for any River model.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the learner (lr=0.5), of the focus (focus.gamma=0.3) or of the scaler (scale.clip=5). May "
        "be repeated.",
    ),
]
FocusOption = Annotated[
    bool | None,
    typer.Option(
        "--focus/--no-focus",
        help="Replay the hardest rows of a window. On for our learners, off for other models.",
        show_default=False,
    ),
]
WindowOption = Annotated[
    int | None,
    typer.Option("--window", help="Rows that the focus remembers (10000).", min=1),
]
ReplaysOption = Annotated[
    int | None,
    typer.Option("--replays", help="Replays after each row (about log2 of the window)."),
]
SlackOption = Annotated[
    float | None,
    typer.Option("--slack", help="Rows that may be forgiven as outliers, in all."),
]
ShareOption = Annotated[
    float | None,
    typer.Option("--share", help="Rate at which the focus forgets old weights, 0 to 1."),
]
ScaleOption = Annotated[
    bool | None,
    typer.Option(
        "--scale/--no-scale",
        help="Standardise numbers by their running mean and deviation. On for our learners but Winnow, and off for "
        "sparse rows (svmlight).",
        show_default=False,
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of everything random.")]


@dataclass(frozen=True)
class ModelSettings:
    """What the options say about the model.

    Parameters
    ----------
    name
        One of our learners, in any case, or `module:factory`.
    settings
        `name=value` texts.
    focus, scale
        Whether to wrap the learner; None for what suits it.
    window, replays, slack, share
        Of the focus; None for its defaults.
    seed
        Of the focus, and of a factory that takes one.
    certify
        `EPSILON[,DELTA]` of the certificate to earn, or None.

    """

    name: str = "HingeOGD"
    settings: Sequence[str] = ()
    focus: bool | None = None
    window: int | None = None
    replays: int | None = None
    slack: float | None = None
    share: float | None = None
    scale: bool | None = None
    seed: int = 0
    certify: str | None = None


def build_model(settings: ModelSettings) -> Any:
    """Return a fresh model.

    Raises
    ------
    ValueError
        If there is no such model or parameter; the message has the nearest name.

    Examples
    --------
    >>> from stream_maxloss.cli.models import ModelSettings, build_model
    >>> build_model(ModelSettings("perceptron", ["averaged=true"], focus=False, scale=False))
    Perceptron(intercept=True, averaged=True, hash_bits=None)

    """
    given = parse_settings(settings.settings)
    focusing = {name[6:]: value for name, value in given.items() if name.startswith("focus.")}
    scaling = {name[6:]: value for name, value in given.items() if name.startswith("scale.")}
    params = {name: value for name, value in given.items() if not name.startswith(("focus.", "scale."))}
    ours = ":" not in settings.name
    model = build_learner(settings.name, params) if ours else build_foreign(settings.name, params, settings.seed)
    wants_focus = ours if settings.focus is None else settings.focus
    if wants_focus:
        model = add_focus(model, settings, focusing)
    else:
        refuse_focus_settings(settings, focusing)
    wants_scale = ours and type(model).__name__ not in UNSCALED and not is_unscaled(model)
    if wants_scale if settings.scale is None else settings.scale:
        model = add_scaler(model, scaling)
    elif scaling:
        raise ValueError(f"--set scale.{next(iter(scaling))} must come with the scaler; add --scale")
    return add_certificate(model, settings.certify)


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Return `name=value` texts as parameters: numbers, true, false, none, else text.

    Examples
    --------
    >>> from stream_maxloss.cli.models import parse_settings
    >>> parse_settings(["lr=0.5", "averaged=true", "schedule=constant"])
    {'lr': 0.5, 'averaged': True, 'schedule': 'constant'}

    """
    settings = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise ValueError(f"--set must be NAME=VALUE, got {text!r}; for instance --set lr=0.5")
        settings[name.strip()] = parse_value(value.strip())
    return settings


def parse_value(text: str) -> Any:
    """Return the value that a text stands for."""
    words = {"true": True, "false": False, "none": None, "inf": float("inf"), "-inf": float("-inf")}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def build_learner(name: str, params: Mapping[str, Any]) -> Any:
    """Return one of our learners."""
    linear = importlib.import_module("stream_maxloss.linear")
    return call(getattr(linear, find_learner(name)), find_learner(name), params)


def find_learner(name: str) -> str:
    """Return the class that a name stands for: any case, dashes allowed, `hinge` for `HingeOGD`."""
    known = {learner.lower(): learner for learner in LEARNERS}
    known |= {learner.lower().removesuffix("ogd"): learner for learner in LEARNERS}
    folded = name.lower().replace("-", "").replace("_", "")
    if folded not in known:
        remedy = "; any River model is --model module:factory"
        raise ValueError(f"--model must be a learner, got {name!r}; {closest(name, LEARNERS)}{remedy}")
    return known[folded]


def build_foreign(name: str, params: Mapping[str, Any], seed: int) -> Any:
    """Return what `module:factory` makes, or the model that it is."""
    from river import base

    module_name, _, attribute = name.partition(":")
    # The user's own module usually lies where the command is run, which a console script does not look into.
    if os.getcwd() not in sys.path:  # noqa: PTH109
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
    try:
        found: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise ValueError(f"--model {name}: module must be importable, got: {error}; is it installed?") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            public = [item for item in dir(found) if not item.startswith("_")]
            raise ValueError(f"--model {name}: {module_name} has no {part!r}; {closest(part, public)}")
        found = getattr(found, part)
    model = found.clone() if isinstance(found, base.Estimator) else call(found, name, with_seed(found, params, seed))
    if not isinstance(model, base.Classifier | base.Regressor):
        raise ValueError(f"--model {name} must give a River classifier or regressor, got {type(model).__name__}")
    return model


def with_seed(factory: Callable[..., Any], params: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Add the seed for a factory that takes one, so that a run can be repeated."""
    try:
        takes_seed = "seed" in inspect.signature(factory).parameters
    except (TypeError, ValueError):
        takes_seed = False
    return {"seed": seed, **params} if takes_seed else dict(params)


def call(factory: Callable[..., Any], name: str, params: Mapping[str, Any]) -> Any:
    """Call a factory, naming a parameter that it does not have."""
    if not callable(factory):
        raise ValueError(f"--model {name} must be a class, a function or a model, got {type(factory).__name__}")
    known = inspect.signature(factory).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        for param in params:
            if param not in known:
                raise ValueError(f"--set {param}: {name} has no such parameter; {closest(param, known)}")
    return factory(**params)


def add_focus(model: Any, settings: ModelSettings, params: Mapping[str, Any]) -> Any:
    """Wrap a learner in the focused classifier or regressor."""
    from river import base

    from stream_maxloss.focus import FocusedClassifier, FocusedRegressor

    given = {name: getattr(settings, name) for name in ("window", "replays", "slack", "share")}
    given = {name: value for name, value in given.items() if value is not None}
    wrapper = FocusedClassifier if isinstance(model, base.Classifier) else FocusedRegressor
    known = [name for name in inspect.signature(wrapper).parameters if name not in ("classifier", "regressor")]
    for param in params:
        if param not in known:
            raise ValueError(f"--set focus.{param}: the focus has no such parameter; {closest(param, known)}")
    return wrapper(model, **{"seed": settings.seed, **given, **params})


def add_scaler(model: Any, params: Mapping[str, Any]) -> Any:
    """Put a scaler before a model."""
    from stream_maxloss.linear import Scaler

    known = list(inspect.signature(Scaler).parameters)
    for param in params:
        if param not in known:
            raise ValueError(f"--set scale.{param}: the scaler has no such parameter; {closest(param, known)}")
    return Scaler(**params) | model


def refuse_focus_settings(settings: ModelSettings, params: Mapping[str, Any]) -> None:
    """Refuse options that would do nothing."""
    for name in ("window", "replays", "slack", "share"):
        if getattr(settings, name) is not None:
            raise ValueError(f"--{name} must come with the focus, got {getattr(settings, name)!r}; add --focus")
    if params:
        raise ValueError(f"--set focus.{next(iter(params))} must come with the focus; add --focus")


def is_unscaled(model: Any) -> bool:
    """Tell whether the learner inside a focus takes features in [0, 1] only."""
    return type(getattr(model, "classifier", model)).__name__ in UNSCALED


def focused_part(model: Any) -> Any | None:
    """Return the focused estimator of a model or pipeline, or None.

    Examples
    --------
    >>> from stream_maxloss.cli.models import ModelSettings, build_model, focused_part
    >>> type(focused_part(build_model(ModelSettings(window=100)))).__name__
    'FocusedClassifier'
    >>> focused_part(build_model(ModelSettings(focus=False))) is None
    True

    """
    model = inner_model(model)
    last = model._last_step if hasattr(model, "_last_step") else model
    return last if hasattr(last, "hardest") else None
