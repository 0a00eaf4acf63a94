"""The focused learner: replays a second, the wrapper's own cost, the window's memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from river import base

from benchmarks.data import BATCH, as_batches, as_dicts, dense_rows
from benchmarks.point import OURS, Point, claim
from benchmarks.processes import resident_bytes

TITLE = "Focused replay"
INCLUDED = (
    "`FocusedClassifier(HingeOGD(), window=10_000, replays=14).learn_many` on Arrow batches of 20 features with a full "
    "window, by the number of replays; learning the 14 times rarer arrivals, and turning them into rows, is included. "
    "`bare` is `HingeOGD().learn_many` by the number of rows. The target is for the median of 40 short repeats on an "
    "idle core; the quickest stands beside it. The wrapper's own cost is what a replay takes around a "
    "model that does nothing, less that model's two calls. Memory is a window of a million rows of 20 float64."
)
AXIS = None
FEATURES = 20
WINDOW = 10_000
REPLAYS = 14
# Rows of a repeat: few, so that some repeats meet no neighbour, but enough that a call costs little of it.
PART = 4096
MILLION = 1_000_000
REPEATS_OF_RATE = 40
RATES = {"median": "median", "least": "quickest"}


def points(quick: bool) -> list[Point]:
    """Return the rate, the overhead and the memory."""
    return [
        Point(
            "rate",
            "replays over HingeOGD",
            (OURS, "bare"),
            {},
            unit="replay (bare: row)",
            repeats=None if quick else REPEATS_OF_RATE,
        ),
        Point("wrapper", "the wrapper around a foreign model", (OURS,), {}, kind="fact"),
        Point(
            "memory", "a window of a million rows", (OURS,), {"rows": MILLION // 10 if quick else MILLION}, kind="fact"
        ),
    ]


def prepare(system: str, settings: dict[str, Any]) -> Callable[[], int]:
    """Return a pass over a batch."""
    from stream_maxloss.linear import HingeOGD

    [(batch, labels)] = as_batches(*dense_rows(BATCH, FEATURES))
    if system == "bare":
        bare = HingeOGD()

        def rows() -> int:
            bare.learn_many(batch, labels)
            return BATCH

        return rows
    from stream_maxloss.focus import FocusedClassifier

    model = FocusedClassifier(HingeOGD(), window=WINDOW, replays=REPLAYS, seed=1)
    model.learn_many(batch, labels)
    part, part_labels = batch.slice(0, PART), labels.slice(0, PART)

    def work() -> int:
        model.learn_many(part, part_labels)
        return PART * REPLAYS

    return work


class Idle(base.Classifier):
    """A classifier that does nothing, so that what is left is the wrapper's own cost."""

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn nothing."""

    def predict_proba_one(self, x: Any) -> dict[bool, float]:
        """Be undecided."""
        return {True: 0.5, False: 0.5}


def observe(system: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the wrapper's cost or the window's memory."""
    return observe_memory(settings["rows"]) if "rows" in settings else observe_wrapper()


def fastest(work: Callable[[], Any], repeats: int = 40) -> float:
    """Return the least processor seconds of some runs."""
    least = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        work()
        least = min(least, time.process_time() - started)
    return least


def observe_wrapper() -> dict[str, Any]:
    """Return seconds per replay around a model that does nothing, with and without that model's own calls."""
    from stream_maxloss.focus import FocusedClassifier

    stream = as_dicts(*dense_rows(200, FEATURES))
    many, none, idle = 50, 0, Idle()

    def passing(replays: int) -> Callable[[], None]:
        model = FocusedClassifier(Idle(), window=WINDOW, replays=replays, seed=1)

        def work() -> None:
            for x, y in stream:
                model.learn_one(x, y)

        work()
        return work

    def calls() -> None:
        for _ in range(many):
            for x, y in stream:
                idle.predict_proba_one(x)
                idle.learn_one(x, y)

    rows = len(stream)
    replay = (fastest(passing(many)) - fastest(passing(none))) / (rows * many)
    own = fastest(calls) / (rows * many)
    return {"seconds per replay": replay, "seconds of the model": own, "seconds of the wrapper": replay - own}


def observe_memory(rows: int) -> dict[str, Any]:
    """Return bytes of a full window, as it says and as the process grew, over the raw bytes of its rows."""
    from stream_maxloss.focus import FocusedClassifier
    from stream_maxloss.linear import HingeOGD

    [(batch, labels)] = as_batches(*dense_rows(BATCH, FEATURES))
    # A small one first, so that compiled code and scratch space are not counted.
    FocusedClassifier(HingeOGD(), window=100, replays=1, seed=1).learn_many(batch, labels)
    before = resident_bytes()
    model = FocusedClassifier(HingeOGD(), window=rows, replays=1, seed=1)
    for _ in range(0, rows, BATCH):
        model.learn_many(batch, labels)
    raw = rows * FEATURES * 8
    return {
        "rows": rows,
        "bytes over raw bytes": model.memory_bytes / raw,
        "resident growth over raw bytes": (resident_bytes() - before) / raw,
    }


def a_second(cost: float) -> float:
    """Return how many millions a second, from the seconds of one."""
    return 1e-6 / cost


def conclude(measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rate against its target, the wrapper's cost and the memory."""
    claims = []
    costs = measured.get("rate", {}).get("seconds_per_unit", {})
    if OURS in costs and "bare" in costs:
        bare = a_second(costs["bare"]["median"])
        for statistic, what in RATES.items():
            target = min(5.0, bare / 4.0) if statistic == "median" else None
            rate = a_second(costs[OURS][statistic])
            claims.append(claim("rate", f"replays over HingeOGD, {what}", rate, suffix=" M/s", target=target))
        claims.append(claim("rate", "rows of the bare learner", bare, suffix=" M/s"))
    wrapper = measured.get("wrapper", {}).get("facts", {}).get(OURS, {})
    if "seconds of the wrapper" in wrapper:
        own = 1e6 * wrapper["seconds of the wrapper"]
        claims.append(claim("wrapper", "wrapper's own cost of a replay", own, suffix=" us", target=3.0, at_most=True))
    memory = measured.get("memory", {}).get("facts", {}).get(OURS, {})
    for what in ("bytes over raw bytes", "resident growth over raw bytes"):
        if what in memory:
            claims.append(claim("memory", f"window's {what}", memory[what], target=1.3, at_most=True))
    return claims
