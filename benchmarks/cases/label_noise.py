"""Wrong labels in training: what they cost on clean rows, and which settings of the game bear them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data_sets import ABSENT, find_set, load
from benchmarks.errors import held_out_errors
from benchmarks.point import Point, claim
from benchmarks.quality_plots import draw_lines
from benchmarks.streams import Stream

TITLE = "Label noise"
INCLUDED = (
    "The training rows of NSL-KDD, shuffled; of the first 70 % some labels are flipped, the last 30 % are a clean "
    "test of which `u2r` and `r2l` are the rare slice (about 310 rows). The model is tested ten times during the "
    "second half of its training, because a focused learner moves with the rows in its window; the table has the "
    "means. All are `Scaler(clip=2) | ...` around `HingeOGD(lr=0.02)` or `LLD(lr=0.003)`, focus with a window of "
    "10,000, 14 replays and else the defaults; eager is `eta=2/window, gamma=0.25`, slack may forgive 500 rows, and "
    "of sub-sampled windows the number is the share of rows that enter."
)
AXIS = None
PICTURE = "label-noise.png"
WORDS = "Clean-test error on all rows and on the rare slice against the share of flipped labels"
LEVELS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
TRAIN = 0.7
# The last iterate depends on the rows that came last: test it after each of so many parts of the second half.
PARTS = 20
WINDOW = 10_000
CLIP = 2.0
BARE, FOCUSED, EAGER = "bare", "focused", "focused, eager"
ROBUST = ("slack L1", "slack L2", "sub-sampled 0.3", "sub-sampled 0.1", "bare LLD", "focused LLD")
SYSTEMS = (BARE, FOCUSED, EAGER, *ROBUST)


def points(quick: bool) -> list[Point]:
    """Return the only point."""
    if quick:
        settings = {"rows": 20_000, "levels": (0.0, 0.05)}
        return [
            Point("nsl_kdd", "NSL-KDD", (BARE, FOCUSED, EAGER, "sub-sampled 0.3"), settings, kind="fact", at_once=2)
        ]
    return [Point("nsl_kdd", "NSL-KDD", SYSTEMS, {"rows": None, "levels": LEVELS}, kind="fact", at_once=2)]


def make_model(system: str) -> Any:
    """Return a model behind its scaler."""
    from stream_maxloss.focus import FocusedClassifier, Slack, SubSample
    from stream_maxloss.linear import LLD, HingeOGD, Scaler

    learner: Any = LLD(lr=0.003) if system.endswith("LLD") else HingeOGD(lr=0.02)
    games: dict[str, dict[str, Any]] = {
        FOCUSED: {},
        EAGER: {"eta": 2.0 / WINDOW, "gamma": 0.25},
        "slack L1": {"slack": Slack(500.0)},
        "slack L2": {"slack": Slack(500.0, norm="l2")},
        "sub-sampled 0.3": {"admission": SubSample(0.3)},
        "sub-sampled 0.1": {"admission": SubSample(0.1)},
        "focused LLD": {},
    }
    if system in games:
        learner = FocusedClassifier(learner, window=WINDOW, replays=14, seed=0, **games[system])
    return Scaler(clip=CLIP) | learner


def observe(system: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return by level of noise the errors on clean rows: all of them, and the rare ones."""
    if find_set("nsl_kdd") is None:
        return {"missing": ABSENT}
    stream = load("nsl_kdd", 0, settings["rows"])
    found = {}
    for level in settings["levels"]:
        found[f"{100.0 * level:g} %"] = measure(make_model(system), stream, level)
    return found


def measure(model: Any, stream: Stream, level: float) -> dict[str, float]:
    """Learn rows of which some labels are flipped; return the mean errors on clean ones over the second half."""
    border = int(TRAIN * len(stream))
    clean = stream.part(border, len(stream))
    rare = clean.slices["u2r"] | clean.slices["r2l"]
    labels = stream.labels[:border] ^ (np.random.default_rng(1).random(border) < level)
    edges = np.linspace(0, border, PARTS + 1).astype(int)
    errors = []
    for number, (first, last) in enumerate(itertools.pairwise(edges.tolist())):
        model.learn_many(stream.table.slice(first, last - first), labels[first:last])
        if number >= PARTS // 2:
            wrong = held_out_errors(model, clean)
            errors.append((100.0 * float(wrong.mean()), 100.0 * float(wrong[rare].mean())))
    means = np.mean(errors, axis=0).tolist()
    return {"all rows": means[0], "rare": means[1]}


def ran(measured: dict[str, dict[str, Any]]) -> dict[str, dict[str, dict[str, float]]]:
    """Return by system and level the errors of those that ran."""
    facts = measured.get("nsl_kdd", {}).get("facts", {})
    return {system: fact for system, fact in facts.items() if "missing" not in fact}


def conclude(measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return at each level the best robust setting over the bare learner, and the gain that is left at 5 %."""
    errors = ran(measured)
    if BARE not in errors:
        return []
    claims = []
    for level, bare in errors[BARE].items():
        best, system = min((errors[system][level]["all rows"], system) for system in ROBUST if system in errors)
        text = f"{level} flipped: all rows, best robust setting ({system}) over bare"
        claims.append(claim("nsl_kdd", text, best / bare["all rows"], suffix="", target=1.0, at_most=True))
    clean = errors[BARE]["0 %"]["rare"] - min(errors[game]["0 %"]["rare"] for game in (FOCUSED, EAGER))
    if "5 %" in errors[BARE]:
        bare = errors[BARE]["5 %"]
        # Only settings that do not pay for it on all rows count.
        fair = [s for s in ROBUST if s in errors and errors[s]["5 %"]["all rows"] <= bare["all rows"]]
        gain, system = max((bare["rare"] - errors[s]["5 %"]["rare"], s) for s in fair) if fair else (0.0, "none")
        text = f"5 % flipped: rare-slice gain of {system} over the best of focus without noise"
        claims.append(claim("nsl_kdd", text, gain / clean, suffix="", target=0.5))
    return claims


def tables(measured: dict[str, dict[str, Any]]) -> list[tuple[list[str], list[list[str]]]]:
    """Return the table of errors: all rows / rare rows."""
    errors = ran(measured)
    if not errors:
        return [(["NSL-KDD"], [[f"left out: {ABSENT}"]])]
    levels = list(errors[BARE])
    rows = [
        [system, *(f"{fact[level]['all rows']:.2f} / {fact[level]['rare']:.1f}" for level in levels)]
        for system, fact in errors.items()
    ]
    return [(["all rows / rare rows, %", *(f"{level} flipped" for level in levels)], rows)]


def plot(measured: dict[str, dict[str, Any]], folder: Path) -> list[tuple[str, str]]:
    """Draw both errors against the noise."""
    errors = ran(measured)
    if not errors:
        return []
    panels = {
        title: {
            system: ([float(level.split()[0]) for level in fact], [error[kind] for error in fact.values()])
            for system, fact in errors.items()
        }
        for title, kind in (("clean test rows", "all rows"), ("rare slice (u2r and r2l) of them", "rare"))
    }
    drawn = draw_lines(panels, folder / PICTURE, x="labels flipped in training, %", y="error, %")
    return [(WORDS, PICTURE)] if drawn else []
