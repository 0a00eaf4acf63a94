"""What the model `auto` has chosen, in a few lines."""

from __future__ import annotations

from typing import Any

from stream_maxloss.cli.options.models import auto_part
from stream_maxloss.cli.reports.text_table import format_bytes

__all__ = ["experts_text", "leaders"]

SHOWN = 5
# Changes of the leader that are told, the last ones.
CHANGES = 4


def experts_text(model: Any) -> str | None:
    """Return how much `auto` computes and which of its experts weigh most; None for another model.

    Examples
    --------
    >>> from stream_maxloss.cli.reports.experts import experts_text
    >>> from stream_maxloss.linear import Perceptron
    >>> experts_text(Perceptron()) is None
    True

    """
    auto = auto_part(model)
    if auto is None:
        return None
    weights = sorted(auto.weights().items(), key=lambda item: -item[1])
    lines = [f"auto, compute={auto.compute}, {format_bytes(auto.memory_bytes)}; the experts of most weight:"]
    lines += [f"  {weight:6.1%}  {name}" for name, weight in weights[:SHOWN]]
    rest = sum(weight for _, weight in weights[SHOWN:])
    lines.append(f"  {rest:6.1%}  {len(weights) - SHOWN} others")
    if auto.keeps_rows:
        lines.append(f"focus has weight {auto.focus_weight():.2f}: experts that replay, alone and within the stacks")
    found = leaders(auto)
    if len(found) > 1:
        lines.append("led by " + ", then ".join(f"{name} (from row {rows:,})" for rows, name in found.items()))
    return "\n".join(lines)


def leaders(auto: Any) -> dict[int, str]:
    """Return which expert had most weight, and from which row on, as the history tells; the last few changes.

    Examples
    --------
    >>> from stream_maxloss.cli.reports.experts import leaders
    >>> from stream_maxloss.mixture import AutoClassifier
    >>> leaders(AutoClassifier())
    {}

    """
    found: dict[int, str] = {}
    for rows, weights in auto.history().items():
        leader = max(weights, key=weights.__getitem__)
        if not found or leader != next(reversed(found.values())):
            found[rows] = leader
    return dict(list(found.items())[-CHANGES:])
