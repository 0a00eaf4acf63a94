"""Streams that change: where replay, and which of its settings, helps or hurts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data_sets import ABSENT, find_set, load
from benchmarks.errors import progressive_errors
from benchmarks.point import Point, claim
from benchmarks.quality_plots import draw_lines
from benchmarks.streams import Stream

TITLE = "Drift"
INCLUDED = (
    "Progressive errors of `Scaler() | learner`, bare and focused with the defaults but for what the row says. "
    "Elec2: 45,312 half hours in their order, without the date and the price that the label is computed from; to "
    "repeat the label before errs on 14.7 % of them. Abrupt: 40,000 rows of 10 normal features labelled by a plane, "
    "5 % of the labels flipped; at the middle the plane is replaced by another. Gradual: the plane turns by half a "
    "circle over the stream. Share 1e-4 halves an old weight in 6,900 replays, slack may forgive 500 rows."
)
AXIS = None
PICTURE = "drift.png"
WORDS = "Error in parts of the stream, bare and focused, under abrupt and gradual drift and on Elec2"
FEATURES = 10
NOISE = 0.05
PARTS = 20
BARE = "bare"
GAMES: dict[str, dict[str, Any]] = {
    "focused, window 100": {"window": 100},
    "focused, window 1,000": {"window": 1_000},
    "focused, window 10,000": {"window": 10_000},
    "uniform, window 10,000": {"window": 10_000, "gamma": 1.0},
    "focused, window 10,000, share": {"window": 10_000, "share": 1e-4},
    "focused, window 10,000, slack": {"window": 10_000, "slack": 500.0},
}
LEARNERS = ("Perceptron", "HingeOGD", "HingeOGD, constant step", "LLD")
DRAWN = (BARE, "focused, window 100", "focused, window 1,000", "focused, window 10,000")


def points(quick: bool) -> list[Point]:
    """Return the three streams; the short form is an abrupt drift, with two learners."""
    if quick:
        settings = {"stream": "abrupt", "rows": 8_000}
        return [Point("abrupt", "abrupt drift", LEARNERS[1:3], settings, kind="fact", at_once=2)]
    settings = {"rows": 40_000}
    labels = {"elec2": "Elec2", "abrupt": "abrupt drift", "gradual": "gradual drift"}
    return [
        Point(name, label, LEARNERS, {"stream": name, **settings}, kind="fact", at_once=2)
        for name, label in labels.items()
    ]


def drifting(kind: str, rows: int, seed: int = 7) -> Stream:
    """Return rows labelled by a plane that changes, with some labels flipped."""
    import pyarrow as pa

    generator = np.random.default_rng(seed)
    X = generator.standard_normal((rows, FEATURES))
    first, second = np.linalg.qr(generator.standard_normal((FEATURES, 2)))[0].T
    time = np.arange(rows) / rows
    angle = np.where(time < 0.5, 0.0, np.pi / 2) if kind == "abrupt" else np.pi * time
    planes = np.cos(angle)[:, None] * first + np.sin(angle)[:, None] * second
    labels = np.einsum("ij,ij->i", X, planes) > 0.0
    labels ^= generator.random(rows) < NOISE
    return Stream(pa.table({f"feature_{j}": X[:, j] for j in range(FEATURES)}), labels, {})


def make_learner(name: str) -> Any:
    """Return a learner with its defaults, but for the step where the name says so."""
    from stream_maxloss import linear

    if name == "HingeOGD, constant step":
        return linear.HingeOGD(lr=0.01, schedule="constant")
    return getattr(linear, name)()


def observe(system: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return by setting of the game the error on all rows, and in parts of the stream."""
    from stream_maxloss.focus import FocusedClassifier
    from stream_maxloss.linear import Scaler

    if settings["stream"] == "elec2" and find_set("elec2") is None:
        return {"missing": ABSENT}
    stream = load("elec2") if settings["stream"] == "elec2" else drifting(settings["stream"], settings["rows"])
    found = {BARE: measure(Scaler() | make_learner(system), stream)}
    for name, game in GAMES.items():
        found[name] = measure(Scaler() | FocusedClassifier(make_learner(system), **game, seed=0), stream)
    return found


def measure(model: Any, stream: Stream) -> dict[str, Any]:
    """Return the error on all rows, and in parts of the stream, in per cent."""
    wrong: NDArray[np.bool_] = progressive_errors(model, stream)
    parts = [100.0 * float(part.mean()) for part in np.array_split(wrong, PARTS)]
    return {"error": 100.0 * float(wrong.mean()), "parts": parts}


def conclude(measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each stream the best bare learner and the best focused one."""
    claims = []
    for name, result in measured.items():
        facts = {learner: fact for learner, fact in result["facts"].items() if "missing" not in fact}
        if not facts:
            continue
        bare = min((fact[BARE]["error"], learner) for learner, fact in facts.items())
        focused = min((fact[game]["error"], f"{learner}, {game}") for learner, fact in facts.items() for game in GAMES)
        claims.append(claim(name, f"{result['label']}: best bare learner ({bare[1]})", bare[0], suffix=" %"))
        claims.append(claim(name, f"{result['label']}: best with a window ({focused[1]})", focused[0], suffix=" %"))
    return claims


def tables(measured: dict[str, dict[str, Any]]) -> list[tuple[list[str], list[list[str]]]]:
    """Return a table of errors for each stream."""
    found = []
    for result in measured.values():
        rows = [
            [learner, *(f"{fact[game]['error']:.1f} %" for game in (BARE, *GAMES))]
            for learner, fact in result["facts"].items()
            if "missing" not in fact
        ]
        if rows:
            found.append(([result["label"], BARE, *GAMES], rows))
        else:
            found.append(([result["label"]], [[f"left out: {ABSENT}"]]))
    return found


def plot(measured: dict[str, dict[str, Any]], folder: Path) -> list[tuple[str, str]]:
    """Draw the error over time of the learner with a constant step, one panel for each stream."""
    panels = {}
    for result in measured.values():
        fact = result["facts"].get("HingeOGD, constant step", {"missing": ""})
        if "missing" not in fact:
            where = [100.0 * (part + 0.5) / PARTS for part in range(PARTS)]
            panels[result["label"]] = {game: (where, fact[game]["parts"]) for game in DRAWN}
    drawn = draw_lines(panels, folder / PICTURE, x="part of the stream seen, %", y="error, %")
    return [(WORDS, PICTURE)] if drawn else []
