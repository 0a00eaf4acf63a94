from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from river import checks

from stream_maxloss.errors import RowError, UsageError
from stream_maxloss.intake import Intake, parse_schema
from stream_maxloss.linear import HingeOGD, Scaler
from stream_maxloss.mixture import AutoClassifier
from stream_maxloss.rows.dicts import frame_to_dicts

DAY = datetime(2026, 11, 17)


def rows(count=60):
    generator = np.random.default_rng(3)
    words = ["free", "call", "lunch", "home", "win", "0800123"]
    return [
        {
            "when": DAY + timedelta(minutes=int(generator.integers(0, 5000))),
            "price": Decimal(int(generator.integers(100, 999))) / 100,
            "wait": timedelta(seconds=int(generator.integers(0, 60))),
            "note": " ".join(generator.choice(words, 6)),
            "user": {"age": int(generator.integers(18, 80)), "home": {"country": str(generator.choice(["DE", "FR"]))}},
            "tags": [str(tag) for tag in generator.choice(["red", "blue", "green"], 2)],
            "place": [float(generator.random()), float(generator.random())],
        }
        for _ in range(count)
    ]


def test_river_checks_pass():
    for check in checks.yield_checks(Intake()):
        check(Intake())


def test_dicts_and_frames_give_the_same_features():
    settled = Intake(text=["note"])
    table = pa.Table.from_pylist(rows())
    settled.settle(table)
    features, wrong = settled.apply(table.combine_chunks().to_batches()[0], learn=True)
    assert wrong == {}
    one_by_one = Intake(text=["note"])
    one_by_one.settle(table)
    found = []
    for x in rows():
        found.append(one_by_one.transform_one(x))
        one_by_one.learn_one(x)
        assert one_by_one.transform_one(x) == found[-1]
    assert found == list(frame_to_dicts(features))


@pytest.mark.parametrize(
    "make", [lambda: AutoClassifier(seed=1), lambda: Scaler() | HingeOGD()], ids=["auto", "scaled"]
)
def test_a_model_learns_the_same_from_dicts_and_from_frames(make):
    labels = [bool(x["user"]["age"] > 50) for x in rows()]
    intake = Intake(text=["note"])
    table = pa.Table.from_pylist(rows())
    intake.settle(table)
    batch, _ = intake.apply(table.combine_chunks().to_batches()[0], learn=True)
    by_frame, by_row = make(), make()
    by_frame.learn_many(batch, labels)
    for x, y in zip(frame_to_dicts(batch), labels, strict=True):
        by_row.learn_one(x, y)
    for x in frame_to_dicts(batch):
        assert by_frame.predict_proba_one(x) == by_row.predict_proba_one(x)


def test_state_goes_through_json_and_on():
    import orjson

    table = pa.Table.from_pylist(rows())
    straight, first, second = Intake(), Intake(), Intake()
    for intake in (straight, first):
        intake.settle(table)
    batch = table.combine_chunks().to_batches()[0]
    expected, _ = straight.apply(batch, learn=True)
    first.apply(batch.slice(0, 30), learn=True)
    second.load_state_dict(orjson.loads(orjson.dumps(first.state_dict())))
    rest, _ = second.apply(batch.slice(30), learn=True)
    assert rest.equals(expected.slice(30))


DAMAGED = {
    "kind": {"plans": {"a": {"kind": "magic", "detail": "", "has_hours": False}}, "states": {}, "wishes": {}},
    "size": {
        "plans": {"a": {"kind": "numbers", "detail": "999999999", "has_hours": False}},
        "states": {},
        "wishes": {},
    },
    "words": {
        "plans": {"a": {"kind": "text", "detail": "", "has_hours": False}},
        "states": {"a": [1, 2]},
        "wishes": {},
    },
    "times": {
        "plans": {"a": {"kind": "date", "detail": "", "has_hours": False}},
        "states": {"a": [10**30, None]},
        "wishes": {},
    },
    "wish": {"plans": {}, "states": {}, "wishes": {"a": ["magic", None]}},
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_state_is_refused(case):
    with pytest.raises(ValueError, match="must"):
        Intake().load_state_dict(DAMAGED[case])


def test_values_become_what_the_table_in_the_docs_says():
    x = {
        "huge": 2**63,
        "ratio": Decimal("1.25"),
        "wait": timedelta(minutes=1),
        "alarm": time(6),
        "day": date(2026, 11, 16),
        "list": [1, 2, 3],
        "ragged": [],
        "on": True,
        "gone": None,
    }
    found = Intake().transform_one(x)
    assert found["huge"] == 2**63
    assert found["ratio"] == 1.25
    assert found["wait"] == 60.0
    assert found["alarm.hour_sin"] == pytest.approx(1.0)
    assert (found["day.weekday_sin"], found["day.weekday_cos"]) == (0.0, 1.0)  # a Monday
    assert "day.hour_sin" not in found
    assert [found[f"list.{place}"] for place in range(3)] == [1.0, 2.0, 3.0]
    assert found["on"] is True
    assert "gone" not in found


def test_what_nothing_learns_from_is_left_out_and_said():
    intake = Intake()
    batch = pa.record_batch({"x": [1.0], "photo": [b"..."], "orders": [[{"sku": 1}]]})
    assert intake.apply(batch, learn=True)[0].schema.names == ["x"]
    assert len(intake.notes) == 2
    assert "column 'photo' is left out: nothing learns from binary" in intake.notes[0]


def test_dates_can_be_chosen_or_left_out():
    batch = pa.record_batch({"a": pa.array([DAY]), "b": pa.array([DAY]), "x": [1.0]})
    assert not any(name.startswith("b.") for name in Intake(dates=["a"]).apply(batch, True)[0].schema.names)
    assert Intake(dates=()).apply(batch, True)[0].schema.names == ["x"]


def test_a_cell_that_does_not_fit_names_column_and_value():
    intake = Intake(schema="amount:number,when:date")
    batch = pa.record_batch({"amount": ["1.5", "x"], "when": ["2026-11-17", "soon"]})
    features, wrong = intake.apply(batch, learn=True)
    assert wrong == {1: "column 'amount' must be a number, got 'x'"}
    assert features.column("amount").to_pylist() == [1.5, None]
    with pytest.raises(RowError, match="column 'amount' must be a number, got 'x'"):
        intake.transform_many(batch)
    with pytest.raises(ValueError, match="column 'when' must be a date, got 'soon'"):
        intake.transform_one({"when": "soon"})


def test_a_column_keeps_what_it_was_when_its_type_changes():
    intake = Intake()
    intake.apply(pa.record_batch({"a": [1.0]}), learn=True)
    features, wrong = intake.apply(pa.record_batch({"a": ["2", "x"]}), learn=True)
    assert features.column("a").to_pylist() == [2.0, None]
    assert list(wrong) == [1]


def test_a_category_of_whole_numbers_has_no_fractions():
    batch = pa.record_batch({"zip": [80331.0, None]})
    assert Intake(schema="zip:category").apply(batch, True)[0].column("zip").to_pylist() == ["80331", None]


WRONG = {"no type": "zip", "unknown": "zip:postcode", "format": "zip:number:%d", "file": "nowhere.json"}


@pytest.mark.parametrize("case", WRONG)
def test_a_schema_that_says_nothing_is_one_line(case):
    with pytest.raises(UsageError, match="must"):
        parse_schema(WRONG[case])


def test_a_schema_comes_from_a_file(tmp_path):
    (tmp_path / "types.json").write_text('{"zip": "category", "when": "date:%d.%m.%Y"}')
    assert parse_schema(str(tmp_path / "types.json")) == {"zip": ("category", None), "when": ("date", "%d.%m.%Y")}


def test_texts_that_are_numbers_but_for_a_few_are_told():
    import pyarrow as pa

    intake = Intake()
    cells = [f"{i}.5" if i % 20 else "err" for i in range(200)]
    intake.settle(pa.table({"b": cells, "code": [f"00{i % 9}" if i % 20 else "x" for i in range(200)]}))
    assert [note for note in intake.notes if "numbers" in note] == [
        "column 'b' is text, though 95% of its values are numbers; --schema b:number learns it as such, and the rest "
        "are bad records"
    ]
