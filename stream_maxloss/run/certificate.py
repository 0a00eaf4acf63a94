"""Models that stop once a hypothesis has earned its certificate (`concepts.OnlineToPAC`)."""

from __future__ import annotations

from typing import Any

__all__ = ["certificate_line", "certified_part", "describe_certificate", "inner_model", "promoted"]


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
    """Return how a model stands on the way to its certificate, or None where there is none to earn."""
    part = certified_part(model)
    if part is None:
        return None
    found = {"epsilon": part.epsilon, "delta": part.delta, "certified": part.ready}
    if part.ready:
        return found | {name: getattr(part.certificate, name) for name in ("stage", "stage_rows", "rows")}
    return found | {"stage": part.stage, "run": part.run, "rows to go": part.rows_to_go}


def certificate_line(model: Any) -> str | None:
    """Return in one line what was certified, or what is missing; None where there is none to earn."""
    part = certified_part(model)
    if part is None:
        return None
    goal = f"an error of at most {part.epsilon:g} (delta {part.delta:g})"
    if part.ready:
        issued = part.certificate
        return f"certified at row {issued.rows:,}: {goal}, after {issued.stage_rows:,} rows without a mistake"
    return f"not certified: {goal} takes {part.rows_to_go:,} more rows without a mistake; the last run had {part.run:,}"
