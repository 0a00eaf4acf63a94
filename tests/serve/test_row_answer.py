"""The shortest way to an answer says what the long one says."""

from __future__ import annotations

import random

import orjson
import pytest

from stream_maxloss.linear import HingeOGD, Pegasos, Scaler
from stream_maxloss.run import Columns
from stream_maxloss.serve.bodies import read_body
from stream_maxloss.serve.row_answer import find_row_answer
from stream_maxloss.serve.row_form import RowForm

CHANCE = random.Random(3)
ROWS = [{"a": CHANCE.gauss(0, 5), "b": CHANCE.gauss(3, 1)} for _ in range(200)]


def form_of() -> RowForm:
    form = RowForm(Columns("y"), "binary")
    form.fix(form.infer(read_body(b'{"a": 1, "b": 2.5, "y": true}', "application/json")))
    return form


@pytest.mark.parametrize("make", [lambda: Scaler() | HingeOGD(), lambda: Scaler(clip=1.0) | Pegasos(), HingeOGD])
def test_the_answer_has_the_bits_of_the_model_while_it_learns(make):
    model, form = make(), form_of()
    answer = find_row_answer(model, form.decode_numbers, form.fields)
    for row in ROWS:
        said = answer(orjson.dumps(row))
        positive = model.predict_proba_one(row)[True]
        if said is not None:
            assert orjson.loads(said) == {"prediction": model.predict_one(row), "probability": positive}
        else:
            assert positive == 0.5
        model.learn_one(row, row["a"] > row["b"])
    assert answer(orjson.dumps(ROWS[0])) is not None


@pytest.mark.parametrize("data", [b'{"a": 1}', b'{"a": "x", "b": 1}', b'{"a": 1e308, "b": 1e308}', b"{", b"[]"])
def test_rows_that_take_a_closer_look_are_left_to_it(data):
    form = form_of()
    assert find_row_answer(HingeOGD(), form.decode_numbers, form.fields)(data) is None


def test_other_models_are_left_to_the_long_way():
    class Mine(HingeOGD):
        def predict_proba_one(self, x):
            return {False: 0.0, True: 1.0}

    form = form_of()
    assert find_row_answer(Mine(), form.decode_numbers, form.fields) is None
    assert find_row_answer(HingeOGD(), None, ()) is None
