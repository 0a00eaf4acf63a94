"""What a case is made of: points to measure, and claims about what was measured."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["OURS", "Claim", "Point", "claim", "floor_claims"]

OURS = "stream_maxloss"


@dataclass(frozen=True)
class Point:
    """One setting at which some systems do the same work.

    Parameters
    ----------
    name
        What comes after the colon in `python -m benchmarks --only case:name`.
    label
        The setting in words, for the page.
    systems
        The systems to run, each in a process of its own; the case knows what the names mean.
    settings
        Passed to the case's `prepare` or `observe`.
    unit
        What the systems do many times: "row", "replay", ...
    targets
        For a peer's name, the least ratio of its time to ours that is asked for.
    kind
        "time" calls `prepare` and repeats what it returns; "fact" calls `observe` once.
    at_once
        How many systems may run beside each other; for facts that do not depend on it.
    repeats
        How often each system is timed, if not as often as usual: less for work that takes long, more for a figure that
        has no peer to share the machine's mood with.

    """

    name: str
    label: str
    systems: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    unit: str = "row"
    targets: dict[str, float] = field(default_factory=dict)
    kind: str = "time"
    at_once: int = 1
    repeats: int | None = None


@dataclass(frozen=True)
class Claim:
    """One figure that the page shows, beside what was asked for.

    Parameters
    ----------
    point
        Name of the point that it was measured at.
    what
        The figure in words.
    value, lower, upper
        The figure with its quartiles, where it has any.
    suffix
        Unit of the figure: "x" for a ratio.
    target
        What was asked for, or None.
    at_most
        Whether lower is better.

    """

    point: str
    what: str
    value: float
    lower: float | None = None
    upper: float | None = None
    suffix: str = "x"
    target: float | None = None
    at_most: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the target was reached; None where there is none."""
        if self.target is None:
            return None
        return self.value <= self.target if self.at_most else self.value >= self.target

    def as_json(self) -> dict[str, Any]:
        """Return the claim with its verdict."""
        return {**asdict(self), "met": self.met}


def claim(point: str, what: str, value: float, **more: Any) -> dict[str, Any]:
    """Return a claim as JSON."""
    return Claim(point, what, value if math.isfinite(value) else 0.0, **more).as_json()


def floor_claims(points: list[Point], measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each timed point how many times as long each peer takes as we do."""
    claims = []
    for point in points:
        if point.kind != "time" or point.name not in measured:
            continue
        ratios = measured[point.name]["ratios"]
        for peer, ratio in ratios.items():
            claims.append(
                claim(
                    point.name,
                    f"{point.label}, against {peer}",
                    ratio["median"],
                    lower=ratio["lower"],
                    upper=ratio["upper"],
                    target=point.targets.get(peer),
                )
            )
    return claims
