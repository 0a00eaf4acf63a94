"""`--certify`: stop as soon as a hypothesis has earned its certificate."""

from __future__ import annotations

from typing import Annotated, Any

import typer

__all__ = [
    "CertifyOption",
    "add_certificate",
    "certificate_line",
    "certified_part",
    "describe_certificate",
    "inner_model",
    "promoted",
]

DELTA = 0.05

CertifyOption = Annotated[
    str | None,
    typer.Option(
        "--certify",
        metavar="EPSILON[,DELTA]",
        help="Learn from mistakes only, and stop once a model errs on at most EPSILON of rows like these, which is "
        "wrong with probability DELTA (0.05).",
    ),
]


def add_certificate(model: Any, text: str | None) -> Any:
    """Return the model as `OnlineToPAC` runs it, or as it is where no certificate is asked for.

    Examples
    --------
    >>> from stream_maxloss.cli.certify import add_certificate
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
        raise ValueError(f"--certify must be EPSILON[,DELTA], got {text!r}; for instance --certify 0.01") from error
    if not isinstance(model, base.Classifier):
        raise ValueError(
            f"--certify must come with a classifier, got {type(model).__name__}; a mistake is a wrong label"
        )
    try:
        return OnlineToPAC(model, epsilon, delta)
    except ValueError as error:
        raise ValueError(f"--certify {text}: {error}") from error


def certified_part(model: Any) -> Any | None:
    """Return the model itself if it is one that earns a certificate, else None."""
    return model if hasattr(model, "rows_to_go") else None


def inner_model(model: Any) -> Any:
    """Return what learns: the model, or the one that is run for a certificate."""
    return model if certified_part(model) is None else model.model


def promoted(model: Any) -> Any:
    """Return the model to predict with: the certified hypothesis where there is one."""
    part = certified_part(model)
    return part.hypothesis if part is not None and part.ready else inner_model(model)


def describe_certificate(model: Any) -> dict[str, Any] | None:
    """Return how a model stands on the way to its certificate, or None where none is asked for."""
    part = certified_part(model)
    if part is None:
        return None
    found = {"epsilon": part.epsilon, "delta": part.delta, "certified": part.ready}
    if part.ready:
        return found | {name: getattr(part.certificate, name) for name in ("stage", "stage_rows", "rows")}
    return found | {"stage": part.stage, "run": part.run, "rows to go": part.rows_to_go}


def certificate_line(model: Any) -> str | None:
    """Return in one line what was certified, or what is missing; None where no certificate is asked for."""
    part = certified_part(model)
    if part is None:
        return None
    goal = f"an error of at most {part.epsilon:g} (delta {part.delta:g})"
    if part.ready:
        issued = part.certificate
        return f"certified at row {issued.rows:,}: {goal}, after {issued.stage_rows:,} rows without a mistake"
    return f"not certified: {goal} takes {part.rows_to_go:,} more rows without a mistake; the last run had {part.run:,}"
