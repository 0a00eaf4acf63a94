"""The model that the command line names."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

import click

from stream_maxloss.cli.options.group import grouped
from stream_maxloss.cli.options.usage import usage_errors
from stream_maxloss.errors import UsageError
from stream_maxloss.run.closest import closest
from stream_maxloss.run.parts import auto_part, focused_part
from stream_maxloss.run.words import parse_settings

__all__ = [
    "AUTO",
    "LEARNERS",
    "ModelSettings",
    "auto_part",
    "build_model",
    "focused_part",
    "model_options",
    "seed_option",
]

AUTO = "auto"
"""The name of `AutoClassifier` and `AutoRegressor`, whichever suits the target."""

LEARNERS = (
    "AbsoluteOGD",
    "BalancedWinnow",
    "HingeOGD",
    "LLD",
    "LLM",
    "Logistic",
    "MarginPursuit",
    "Pegasos",
    "Perceptron",
    "Winnow",
)
"""The classes of `stream_maxloss.linear` that can be named; the import itself is left until one is."""

CLASS_LEARNERS = ("logistic",)
"""Those that take any number of classes, in lower case."""

DELTA = 0.05
UNSCALED = ("Winnow",)  # takes features in [0, 1] only


@dataclass(frozen=True)
class ModelSettings:
    """What the options say about the model.

    Parameters
    ----------
    name
        `auto`, one of our learners or of an installed package's, in any case, or `module:factory`.
    settings
        `name=value` texts.
    focus, scale
        Whether to wrap the learner; None for what suits it.
    window, replays, slack, share
        Of the focus; None for its defaults. `auto` takes the window, too.
    seed
        Of the focus, of `auto`, and of a factory that takes one.
    certify
        `EPSILON[,DELTA]` of the certificate to earn, or None.

    """

    name: str = AUTO
    settings: Sequence[str] = ()
    focus: bool | None = None
    window: int | None = None
    replays: int | None = None
    slack: float | None = None
    share: float | None = None
    scale: bool | None = None
    seed: int = 0
    certify: str | None = None

    @property
    def is_auto(self) -> bool:
        """Whether the model is to suit the target."""
        return self.name.lower() == AUTO

    @property
    def takes_classes(self) -> bool:
        """Whether the model takes any number of classes, so that the target decides how labels are read."""
        return self.is_auto or self.name.lower() in CLASS_LEARNERS


def build_model(settings: ModelSettings, task: str | None = None) -> Any:
    """Return a fresh model.

    Parameters
    ----------
    settings
        What the options say.
    task
        What the target is, which decides between the two models of `auto`: a regressor for `number`.

    Raises
    ------
    UsageError
        If there is no such model or parameter; the message has the nearest name.

    Examples
    --------
    >>> from stream_maxloss.cli.options.models import ModelSettings, build_model
    >>> build_model(ModelSettings("perceptron", ["averaged=true"], focus=False, scale=False))
    Perceptron(intercept=True, averaged=True, hash_bits=None)

    """
    given = parse_settings(settings.settings)
    focusing = {name[6:]: value for name, value in given.items() if name.startswith("focus.")}
    scaling = {name[6:]: value for name, value in given.items() if name.startswith("scale.")}
    params = {name: value for name, value in given.items() if not name.startswith(("focus.", "scale."))}
    if settings.is_auto:
        return add_certificate(build_auto(settings, given, task), settings.certify)
    name = third_party(settings.name)
    ours = ":" not in name
    model = build_learner(name, params) if ours else build_foreign(name, params, settings.seed)
    wants_focus = ours if settings.focus is None else settings.focus
    if wants_focus:
        model = add_focus(model, settings, focusing)
    else:
        refuse_focus_settings(settings, focusing)
    wants_scale = ours and type(model).__name__ not in UNSCALED and not is_unscaled(model)
    if wants_scale if settings.scale is None else settings.scale:
        model = add_scaler(model, scaling)
    elif scaling:
        raise UsageError(f"--set scale.{next(iter(scaling))} must come with the scaler; add --scale")
    return add_certificate(model, settings.certify)


def build_auto(settings: ModelSettings, params: Mapping[str, Any], task: str | None) -> Any:
    """Return the classifier or the regressor without knobs.

    Raises
    ------
    UsageError
        If an option is given that has no meaning for it.

    """
    for name in ("replays", "slack", "share"):
        if getattr(settings, name) is not None:
            raise UsageError(
                f"--{name} must come with a learner and its focus (--model HingeOGD), got {getattr(settings, name)!r} "
                "for auto; --set compute=least, normal or most says how much it replays"
            )
    for name in ("focus", "scale"):
        if (wanted := getattr(settings, name)) is not None:
            raise UsageError(
                f"--{'' if wanted else 'no-'}{name} must come with a learner (--model HingeOGD), got auto; drop it: "
                "auto scales and replays by itself"
            )
    mixture = importlib.import_module("stream_maxloss.mixture")
    kind = mixture.AutoRegressor if task == "number" else mixture.AutoClassifier
    memory = {} if settings.window is None else {"memory": settings.window}
    return call(kind, AUTO, {"seed": settings.seed, **memory, **params})


def third_party(name: str) -> str:
    """Return the `module:class` of a learner that an installed package names as an entry point, else the name."""
    found = {entry.name.lower(): entry.value for entry in entry_points(group="stream_maxloss.learners")}
    return name if name in LEARNERS else found.get(name.lower(), name)


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
        raise UsageError(f"--model must be a learner, got {name!r}; {closest(name, (AUTO, *LEARNERS))}{remedy}")
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
        raise UsageError(f"--model {name}: module must be importable, got: {error}; is it installed?") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            public = [item for item in dir(found) if not item.startswith("_")]
            raise UsageError(f"--model {name}: {module_name} has no {part!r}; {closest(part, public)}")
        found = getattr(found, part)
    model = found.clone() if isinstance(found, base.Estimator) else call(found, name, with_seed(found, params, seed))
    if not isinstance(model, base.Classifier | base.Regressor):
        raise UsageError(f"--model {name} must be a River classifier or regressor, got {type(model).__name__}")
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
        raise UsageError(f"--model {name} must be a class, a function or a model, got {type(factory).__name__}")
    known = inspect.signature(factory).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        require_known(params, known, "", name)
    # What the constructor refuses is what the user gave it; a factory's own failure shows where it failed.
    with usage_errors() if inspect.isclass(factory) else contextlib.nullcontext():
        return factory(**params)


def add_focus(model: Any, settings: ModelSettings, params: Mapping[str, Any]) -> Any:
    """Wrap a learner in the focused classifier or regressor."""
    from river import base

    from stream_maxloss.focus import FocusedClassifier, FocusedRegressor

    given = {name: getattr(settings, name) for name in ("window", "replays", "slack", "share")}
    given = {name: value for name, value in given.items() if value is not None}
    wrapper = FocusedClassifier if isinstance(model, base.Classifier) else FocusedRegressor
    known = [name for name in inspect.signature(wrapper).parameters if name not in ("classifier", "regressor")]
    require_known(params, known, "focus.", "the focus")
    with usage_errors():
        return wrapper(model, **{"seed": settings.seed, **given, **params})


def add_scaler(model: Any, params: Mapping[str, Any]) -> Any:
    """Put a scaler before a model."""
    from stream_maxloss.linear import Scaler

    require_known(params, inspect.signature(Scaler).parameters, "scale.", "the scaler")
    with usage_errors():
        return Scaler(**params) | model


def require_known(params: Mapping[str, Any], known: Iterable[str], prefix: str, owner: str) -> None:
    """Refuse a parameter that does not exist."""
    names = list(known)
    for param in params:
        if param not in names:
            raise UsageError(f"--set {prefix}{param}: {owner} has no such parameter; {closest(param, names)}")


def refuse_focus_settings(settings: ModelSettings, params: Mapping[str, Any]) -> None:
    """Refuse options that would do nothing."""
    for name in ("window", "replays", "slack", "share"):
        if getattr(settings, name) is not None:
            raise UsageError(f"--{name} must come with the focus, got {getattr(settings, name)!r}; add --focus")
    if params:
        raise UsageError(f"--set focus.{next(iter(params))} must come with the focus; add --focus")


def is_unscaled(model: Any) -> bool:
    """Return whether the learner inside a focus takes features in [0, 1] only."""
    return type(getattr(model, "classifier", model)).__name__ in UNSCALED


def add_certificate(model: Any, text: str | None) -> Any:
    """Return the model as `OnlineToPAC` runs it, or as it is where no certificate is to be earned.

    Examples
    --------
    >>> from stream_maxloss.cli.options.models import add_certificate
    >>> from stream_maxloss.linear import Perceptron
    >>> model = add_certificate(Perceptron(), "0.01,0.001")
    >>> model.epsilon, model.delta
    (0.01, 0.001)

    """
    if text is None:
        return model
    from river import base

    from stream_maxloss.concepts import OnlineToPAC

    first, comma, second = text.partition(",")
    try:
        epsilon, delta = float(first), float(second) if comma else DELTA
    except ValueError as error:
        raise UsageError(f"--certify must be EPSILON[,DELTA], got {text!r}; for instance --certify 0.01") from error
    if not isinstance(model, base.Classifier):
        raise UsageError(
            f"--certify must come with a classifier, got {type(model).__name__}; a mistake is a wrong label"
        )
    try:
        return OnlineToPAC(model, epsilon, delta)
    except ValueError as error:
        raise UsageError(f"--certify {text}: {error}") from error


seed_option = click.option("--seed", type=int, default=0, help="Random seed.")
model_options = grouped(
    "model",
    ModelSettings,
    click.option(
        "--model",
        "name",
        metavar="NAME|MODULE:FACTORY",
        default="auto",
        help="The model: auto, which handles any target without settings; a learner, one of "
        f"{', '.join(LEARNERS)} (any case); or module:factory for any River model.",
    ),
    click.option(
        "--set",
        "settings",
        metavar="NAME=VALUE",
        multiple=True,
        help="A parameter of auto (compute=least, normal or most), of the learner (lr=0.5), of the focus "
        "(focus.gamma=0.3) or of the scaler (scale.clip=5). May be repeated.",
    ),
    click.option(
        "--focus/--no-focus",
        default=None,
        show_default=False,
        help="Replay the hardest rows of a window. On for our learners, off for other models; auto decides.",
    ),
    click.option("--window", type=click.IntRange(min=1), help="Rows that focus or auto remembers (10000)."),
    click.option("--replays", type=int, help="Replays after each row (about log2 of the window)."),
    click.option("--slack", type=float, help="Total budget for forgiving rows as outliers."),
    click.option("--share", type=float, help="Rate at which focus forgets old weights, 0 to 1."),
    click.option(
        "--scale/--no-scale",
        default=None,
        show_default=False,
        help="Standardise numbers by running mean and deviation. On for our learners except Winnow; off for "
        "sparse rows (svmlight).",
    ),
    seed_option,
    click.option(
        "--certify",
        metavar="EPSILON[,DELTA]",
        help="Learn from mistakes only, and stop once a model is certified to err on at most EPSILON of such rows, "
        "except with probability DELTA (0.05).",
    ),
)
