"""A session gives and takes its whole state."""

from __future__ import annotations

import random

import pytest

from stream_maxloss.checkpoint import Content, put_model, take_model
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Scaler
from stream_maxloss.run import Columns, Session, make_metrics
from stream_maxloss_connectors import BadRecords
from stream_maxloss_connectors.testing import MemorySource


def make_rows(count=400):
    chance = random.Random(5)
    for number in range(count):
        a = chance.gauss(0, 1)
        yield {"a": a, "place": chance.choice(["x", "y"]), "kind": "odd" if number % 9 == 0 else "even", "fraud": a > 0}


def make_session(model, source, **options):
    metrics = make_metrics(["accuracy", "logloss"], model)
    return Session(model, source, Columns("fraud", slice_by="kind"), metrics, BadRecords(), **options)


def fresh_model():
    return Scaler() | FocusedClassifier(HingeOGD(), window=50, replays=2, seed=3)


@pytest.mark.parametrize("delay", [0, 11])
def test_a_restored_session_ends_as_one_that_was_never_stopped(delay):
    source = MemorySource(list(make_rows()))
    source.open()
    straight = make_session(fresh_model(), source, delay=delay)
    while not straight.finished:
        straight.step(cut_at=150)
    straight.finish()

    source = MemorySource(list(make_rows()))
    source.open()
    first = make_session(fresh_model(), source, delay=delay, limit=150)
    while not first.finished:
        first.step()
    content = Content()
    put_model(content, first.model)
    again = MemorySource(list(make_rows()))
    again.open(first.source.position())
    second = make_session(take_model(content), again, delay=delay)
    second.load_state_dict(first.state_dict())
    assert (second.rows, second.learned) == (150, 150 - delay)
    while not second.finished:
        second.step()
    second.finish()

    assert (second.rows, second.learned) == (straight.rows, straight.learned) == (400, 400)
    assert second.board.summary() == straight.board.summary()
    x = {"a": 0.3, "place": "x"}
    assert second.model.predict_proba_one(x) == straight.model.predict_proba_one(x)


def test_the_form_of_the_rows_is_kept_until_rows_come():
    source = MemorySource(list(make_rows(10)))
    source.open()
    session = make_session(fresh_model(), source)
    session.step()
    form = session.row_form()
    assert form["features"] == ["a", "place"]
    other = MemorySource([])
    other.open()
    empty = make_session(fresh_model(), other)
    empty.load_state_dict(session.state_dict())
    assert empty.row_form() == form
