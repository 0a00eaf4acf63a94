from __future__ import annotations

from xml.etree import ElementTree

import pandas as pd

from stream_maxloss.card import card

HOSTILE = "<script>alert('&')</script>"


def test_everything_from_outside_is_escaped():
    html = card(HOSTILE, {"seed": HOSTILE}, {HOSTILE: HOSTILE}, [(HOSTILE, [HOSTILE], [[HOSTILE]])])
    assert "<script>" not in html
    assert html.count("&lt;script&gt;") == 7


def test_a_card_is_well_formed_and_a_table_without_rows_is_left_out():
    html = card("Model", {"lr": 0.5, "deep": [1, 2]}, {"rows": 1_234_567, "loss": 0.123456}, [("none", ["a"], [])])
    parsed = ElementTree.fromstring(html)
    assert "".join(parsed.itertext()) == "Model(lr=0.5, deep=[1, 2])rows1,234,567loss0.1235"


def test_a_model_within_a_model_is_shown_by_its_name():
    from stream_maxloss import FocusedClassifier, HingeOGD

    html = FocusedClassifier(HingeOGD(), window=50, seed=1)._repr_html_()
    assert "(classifier=HingeOGD, window=50," in html
    assert "&lt;class" not in html


def test_a_game_by_slices_shows_what_each_has_of_the_weight():
    from stream_maxloss import FocusedClassifier, HingeOGD

    model = FocusedClassifier(HingeOGD(), window=50, policy="slices", seed=1)
    assert "<summary>slices</summary>" not in model._repr_html_()
    model.learn_many(pd.DataFrame({"a": [1.0]}), [True], slices=["rare"])
    html = model._repr_html_()
    assert "<summary>slices</summary>" in html
    assert "<td>rare</td><td>1</td>" in html


def test_long_values_are_cut():
    assert len(card("Model", {"words": "x" * 10_000}, {})) < 300


def test_models_show_what_they_have_learned():
    from river import datasets

    from stream_maxloss import AutoClassifier, FocusedClassifier, HingeOGD

    rows = list(datasets.Phishing().take(200))
    models = HingeOGD(), FocusedClassifier(HingeOGD(), window=50, seed=1), AutoClassifier(seed=1)
    for model, shown in zip(models, ("largest weights", "hardest rows", "experts"), strict=True):
        assert type(model).__name__ in model._repr_html_()
        for x, y in rows:
            model.learn_one(x, y)
        assert shown in model._repr_html_()
