from __future__ import annotations

from benchmarks.cases import replay
from benchmarks.point import OURS


def test_the_rate_of_replays_is_judged_by_its_median_alone():
    quick_now_and_then = {"median": 1 / 4.9e6, "lower": 1 / 5.3e6, "least": 1 / 6.0e6}
    costs = {OURS: quick_now_and_then, "bare": {"median": 1 / 30e6}}
    claims = replay.conclude({"rate": {"seconds_per_unit": costs}})
    judged = [claim for claim in claims if claim["target"] is not None]
    assert [claim["what"] for claim in judged] == ["replays over HingeOGD, median"]
    assert judged[0]["target"] == 5.0
    assert not judged[0]["met"]
