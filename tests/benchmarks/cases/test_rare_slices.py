from __future__ import annotations

from benchmarks.cases.rare_slices import BARE, EAGER, PLAIN, UNIFORM, Weighted, conclude
from stream_maxloss.linear import HingeOGD


def facts(**errors):
    return {
        "facts": {
            system: {"errors": {what: {"mean": mean, "deviation": 0.0} for what, mean in means.items()}}
            for system, means in errors.items()
        }
    }


def test_a_positive_row_is_learned_with_its_weight_and_a_negative_one_without():
    weighted, expected = Weighted(HingeOGD(), 2.0), HingeOGD()
    for x, y in (({"a": 1.0}, True), ({"a": 0.5}, False), ({"a": 0.2}, True)):
        weighted.learn_one(x, y)
        expected.learn_one(x, y, w=2.0 if y else 1.0)
    assert weighted.learner.weights == expected.weights
    assert weighted.predict_proba_one({"a": 3.0}) == expected.predict_proba_one({"a": 3.0})


def test_the_bar_is_asked_against_the_same_learner_of_the_same_weights():
    bare = {"all rows": 4.0, "u2r": 98.0, "r2l": 97.0}
    weighted = {"all rows": 5.0, "u2r": 90.0, "r2l": 95.0}
    ours = {"all rows": 2.0, "u2r": 45.0, "r2l": 40.0}
    errors = {PLAIN: bare, BARE: weighted, UNIFORM: weighted, EAGER: ours}
    claims = {claim["what"]: claim for claim in conclude({"nsl_kdd_weighted": facts(**errors)})}
    barred = claims[f"nsl_kdd_weighted: u2r missed, {EAGER} over {BARE}"]
    assert (barred["value"], barred["target"]) == (0.5, 0.5)
    assert claims[f"nsl_kdd_weighted: u2r missed, {EAGER} over {PLAIN}"]["target"] is None
    assert claims[f"nsl_kdd_weighted: u2r missed in %, {EAGER}; the target is {UNIFORM}'s"]["target"] == 90.0
    assert claims[f"nsl_kdd_weighted: all rows, {EAGER} over {BARE}"]["target"] == 1.0
