"""A model in one word: a learner with its settings, as `maxloss compare` takes several of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stream_maxloss.cli.options.models import ModelSettings
from stream_maxloss.errors import UsageError

__all__ = ["parse_model"]

SWITCHES: dict[str, dict[str, Any]] = {
    "focus": {"focus": True},
    "no-focus": {"focus": False},
    "scale": {"scale": True},
    "no-scale": {"scale": False},
}
Number = type[int] | type[float]
FIELDS: dict[str, Number] = {
    "window": int,
    "replays": int,
    "slack": float,
    "share": float,
    "seed": int,
}


def parse_model(text: str, seed: int = 0) -> ModelSettings:
    """Return the settings that a text such as `HingeOGD,no-focus,lr=0.5` stands for.

    Parameters
    ----------
    text
        `auto`, a learner or `module:factory`, then any of `focus`, `no-focus`, `scale`, `no-scale`, `window=`,
        `replays=`, `slack=`, `share=`, `seed=`, and parameters of the learner (`lr=0.5`), the focus
        (`focus.gamma=0.3`) or the scaler (`scale.clip=5`).
    seed
        Where the text names none.

    Raises
    ------
    UsageError
        If a word is none of these.

    Examples
    --------
    >>> from stream_maxloss.cli.options.model_words import parse_model
    >>> settings = parse_model("HingeOGD,no-focus,lr=0.5")
    >>> settings.name, settings.focus, settings.settings
    ('HingeOGD', False, ('lr=0.5',))

    """
    name, *words = [word.strip() for word in text.split(",")]
    found = ModelSettings(name=name, seed=seed)
    for word in words:
        key, separator, value = word.partition("=")
        if word in SWITCHES:
            found = replace(found, **SWITCHES[word])
        elif not separator or not key:
            raise UsageError(
                f"--model {text}: a setting must be NAME=VALUE or one of {', '.join(SWITCHES)}, got {word!r}; "
                "for instance --model HingeOGD,no-focus,lr=0.5"
            )
        elif key in FIELDS:
            given: dict[str, Any] = {key: read_number(text, key, value)}
            found = replace(found, **given)
        else:
            found = replace(found, settings=(*found.settings, word))
    return found


def read_number(text: str, key: str, value: str) -> int | float:
    """Return the number of a setting of the focus."""
    try:
        return FIELDS[key](value)
    except ValueError:
        kind = "a whole number" if FIELDS[key] is int else "a number"
        raise UsageError(f"--model {text}: {key} must be {kind}, got {value!r}") from None
