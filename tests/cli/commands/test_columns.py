"""Files as people have them, by the command as they type it."""

from __future__ import annotations

import csv
import json
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

GENERATOR = np.random.default_rng(5)
COUNT = 400
WHEN = [datetime(2026, 11, 2) + timedelta(minutes=37 * n) for n in range(COUNT)]
LATE = [int(moment.hour >= 16) for moment in WHEN]


def flights():
    return pd.DataFrame(
        {
            "when": WHEN,
            "airport": GENERATOR.choice(["FRA", "JFK", "SFO"], COUNT),
            "miles": GENERATOR.integers(100, 5000, COUNT),
            "late": LATE,
        }
    )


def scores(done):
    last = [json.loads(line) for line in done.out.splitlines()][-1]
    return {name: score["total"] for name, score in last["metric"].items()}


def run(maxloss, *words):
    done = maxloss("tail", *words, "--metric", "accuracy", "-o", "jsonl", "--set", "compute=least")
    assert done.code == 0, done.err
    return done, scores(done)["Accuracy"]


WRITERS = {
    "pandas.csv": lambda frame, path: frame.to_csv(path, index=False),
    "pandas.parquet": lambda frame, path: frame.to_parquet(path),
    "pandas.jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True, date_format="iso"),
    "polars.csv": lambda frame, path: pl.from_pandas(frame).write_csv(path),
    "polars.parquet": lambda frame, path: pl.from_pandas(frame).write_parquet(path),
    "polars.jsonl": lambda frame, path: pl.from_pandas(frame).write_ndjson(path),
    "text.parquet": lambda frame, path: frame.assign(when=frame["when"].astype(str)).to_parquet(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_dates_are_learned_from_files_as_they_are_written(maxloss, tmp_path, name):
    WRITERS[name](flights(), tmp_path / name)
    assert run(maxloss, name, "-t", "late")[1] > 0.9
    assert "hour, weekday, day, gap" in maxloss("schema", name).out


def test_dates_can_be_left_out(maxloss, tmp_path):
    flights().to_csv(tmp_path / "a.csv", index=False)
    done, accuracy = run(maxloss, "a.csv", "-t", "late", "--dates", "none")
    assert accuracy < 0.88
    assert "column 'when' is left out" in done.err
    assert "--dates when takes it in" in done.err


def test_csv_as_a_spreadsheet_of_another_country_writes_it(maxloss, tmp_path):
    with (tmp_path / "a.csv").open("w", encoding="utf-8-sig", newline="") as file:
        out = csv.writer(file, delimiter=";", lineterminator="\r\n")
        out.writerow(["datum", "preis", "laden", "spät"])
        for moment, late in zip(WHEN, LATE, strict=True):
            out.writerow([moment.strftime("%d.%m.%Y %H:%M"), f"{moment.minute},5", "Nord; Süd", late])
    assert run(maxloss, "a.csv", "-t", "spät")[1] > 0.9
    done = maxloss("schema", "a.csv")
    assert "delimiter semicolon, decimal comma, double quotes, a header" in done.err
    assert [line.split()[1] for line in done.out.splitlines()[1:]] == ["string", "double", "string", "double"]


def test_a_run_over_such_a_file_continues_where_it_stopped(maxloss, tmp_path):
    lines = [f"{moment:%d.%m.%Y %H:%M};{moment.minute},5;{late}" for moment, late in zip(WHEN, LATE, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["datum;preis;y", *lines]) + "\n")
    words = ["a.csv", "-t", "y", "--set", "compute=least", "--report-every", "1000"]
    maxloss("tail", *words, "-p", "straight.jsonl")
    for limit in (150, COUNT):
        done = maxloss("tail", *words, "-c", "state", "--limit", limit, "-p", "cut.jsonl")
        assert done.code == 0, done.err
    assert (tmp_path / "cut.jsonl").read_text() == (tmp_path / "straight.jsonl").read_text()


def test_rows_without_a_label_are_predicted_and_counted_and_not_learned(maxloss, tmp_path):
    frame = flights()
    frame["late"] = frame["late"].astype("float").where(np.arange(COUNT) % 4 != 0)
    frame.to_csv(tmp_path / "some.csv", index=False)
    frame.dropna().to_csv(tmp_path / "labelled.csv", index=False)
    words = ["-t", "late", "--dates", "none", "--set", "compute=least", "--metric", "accuracy", "-o", "jsonl"]
    some = maxloss("tail", "some.csv", *words, "-p", "out.jsonl")
    assert some.code == 0, some.err
    assert "100 of 400 rows had no 'late': predicted, not learned" in some.err
    assert scores(some) == scores(maxloss("tail", "labelled.csv", *words))
    said = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["label"] for row in said[:3]] == [None, False, False]
    assert all(row["prediction"] is not None for row in said)


@pytest.mark.parametrize("delay", [0, 7])
def test_labels_of_text_may_be_missing_too(maxloss, tmp_path, delay):
    lines = [f"{n % 3},{['', 'a', 'b', 'c'][n % 4]}" for n in range(200)]
    (tmp_path / "a.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    done = maxloss("tail", "a.csv", "-t", "y", "--delay", delay, "-p", "out.jsonl", "--set", "compute=least")
    assert done.code == 0, done.err
    assert "50 of 200 rows had no 'y'" in done.err
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 200


def test_river_takes_one_against_the_rest_around_ours(maxloss, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from river import multiclass\n"
        "from stream_maxloss.linear import HingeOGD\n"
        "def ovr():\n    return multiclass.OneVsRestClassifier(HingeOGD())\n"
    )
    lines = [f"{n % 3 == 0:d},{n % 3 == 1:d},{'abc'[n % 3]}" for n in range(300)]
    (tmp_path / "a.csv").write_text("\n".join(["p,q,y", *lines]) + "\n")
    done = maxloss("tail", "a.csv", "-t", "y", "--model", "mine:ovr", "--metric", "accuracy", "-o", "jsonl")
    assert done.code == 0, done.err
    assert scores(done)["Accuracy"] > 0.85


def clicks():
    for n in range(300):
        country = "DE" if n % 2 else "FR"
        yield {
            "user": {"id": n, "geo": {"country": country}},
            "tags": ["sale", "new"] if n % 3 else ["old"],
            "vector": [n % 2, 1, 2.5],
            "items": [{"sku": 1}],
            "bought": country == "DE",
        }


def test_nested_rows_are_flattened_and_lists_are_taken(maxloss, tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in clicks()))
    done, accuracy = run(maxloss, "a.jsonl", "-t", "bought", "--exclude", "vector", "--exclude", "user.id")
    assert accuracy > 0.95
    assert done.err.count("column 'items' is left out: nothing learns from lists of objects") == 1
    table = maxloss("schema", "a.jsonl").out
    for name in ("user.id", "user.geo.country", "tags", "vector"):
        assert f"{name} " in table
    assert maxloss("tail", "a.jsonl", "-t", "bought", "--features", "user.geo.country").code == 0
    assert maxloss("tail", "a.jsonl", "-t", "bought", "--exclude", "usr").code == 2


def test_parquet_with_structs_decimals_durations_and_large_numbers(maxloss, tmp_path):
    table = pa.table(
        {
            "at": pa.array([{"x": float(n % 2), "when": WHEN[n]} for n in range(200)]),
            "price": pa.array([Decimal(n) / 100 for n in range(200)], pa.decimal128(10, 2)),
            "wait": pa.array([timedelta(seconds=n) for n in range(200)]),
            "clock": pa.array([moment.time() for moment in WHEN[:200]]),
            "huge": pa.array([2**63 + n for n in range(200)], pa.uint64()),
            "y": pa.array([n % 2 for n in range(200)]),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    assert run(maxloss, "a.parquet", "-t", "y")[1] > 0.9


def messages(count=300):
    spam, ham = ["win a free prize now", "call 0871234 to claim"], ["see you at lunch then", "are you home already"]
    for n in range(count):
        chosen = spam if n % 3 == 0 else ham
        yield f"{GENERATOR.choice(chosen)} {GENERATOR.choice(['ok', 'yes', 'hm', 'so'])} {n}", int(n % 3 == 0)


def test_free_text_is_found_and_learned_word_by_word(maxloss, tmp_path):
    found = list(messages())
    pq.write_table(pa.table({"text": [text for text, _ in found], "y": [y for _, y in found]}), tmp_path / "a.parquet")
    assert "words" in maxloss("schema", "a.parquet").out
    assert run(maxloss, "a.parquet", "-t", "y")[1] > 0.9
    assert run(maxloss, "a.parquet", "-t", "y", "--text", "none")[1] < 0.88
    assert maxloss("tail", "a.parquet", "-t", "y", "--text", "txt").code == 2


def test_predict_does_with_columns_what_the_run_did(maxloss, tmp_path):
    found = list(messages())
    pq.write_table(pa.table({"text": [text for text, _ in found], "y": [y for _, y in found]}), tmp_path / "a.parquet")
    assert maxloss("tail", "a.parquet", "-t", "y", "-c", "state", "--set", "compute=least").code == 0
    (tmp_path / "new.jsonl").write_text('{"text": "win a free prize"}\n{"text": "home for lunch"}\n')
    done = maxloss("predict", "new.jsonl", "-c", "state")
    assert [json.loads(line)["prediction"] for line in done.out.splitlines()] == [True, False]


def test_one_bad_cell_is_a_bad_record_wherever_it_stands(maxloss, tmp_path):
    for place in (3, 150):
        lines = [f"{n},{n % 2}" for n in range(200)]
        lines[place] = "oops,1"
        (tmp_path / "a.csv").write_text("\n".join(["amount,y", *lines]) + "\n")
        done = maxloss("tail", "a.csv", "-t", "y")
        assert (done.code, f"a.csv:{place + 2}: column 'amount' must be a number, got 'oops'" in done.err) == (3, True)
        assert maxloss("tail", "a.csv", "-t", "y", "--on-bad", "skip").code == 0
        assert maxloss("tail", "a.csv", "-t", "y", "--schema", "amount:category").code == 0


def test_one_bad_field_of_json_is_a_bad_record_wherever_it_stands(maxloss, tmp_path):
    for place in (0, 60):
        rows = [{"amount": n, "y": n % 2} for n in range(100)]
        rows[place]["amount"] = "oops"
        (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        done = maxloss("tail", "a.jsonl", "-t", "y")
        assert (done.code, f"a.jsonl:{place + 1}: field 'amount' must be a number" in done.err) == (3, True)


def test_a_schema_keeps_zeros_in_front_and_may_not_change_on_the_way(maxloss, tmp_path):
    lines = [f"0{n % 5},{n % 5 == 2:d}" for n in range(100)]
    (tmp_path / "a.csv").write_text("\n".join(["zip,y", *lines]) + "\n")
    words = ["a.csv", "-t", "y", "-c", "state", "--set", "compute=least"]
    assert maxloss("tail", *words, "--schema", "zip:category", "--limit", 50).code == 0
    assert "zip  " in maxloss("schema", "a.csv", "--schema", "zip:category").out
    refused = maxloss("tail", *words, "--schema", "zip:number")
    assert refused.code == 4
    assert "types.zip" in refused.err
    assert maxloss("tail", *words).code == 0


@pytest.mark.parametrize("form", [b"1,5\n2,6\n3,7\n", b"a|b\n1|5\n", b"a\tb\n1\t5\n", b"'a','b'\n'x','y'\n'z','y'\n"])
def test_schema_says_how_a_csv_file_is_written(maxloss, tmp_path, form):
    (tmp_path / "a.csv").write_bytes(form)
    done = maxloss("schema", "a.csv")
    assert "a.csv: delimiter" in done.err
    assert len(done.out.splitlines()) == 3


@pytest.mark.parametrize("width", [40, 80, 120])
def test_schema_fits_the_terminal(maxloss, tmp_path, width):
    flights().to_csv(tmp_path / "a.csv", index=False)
    done = maxloss("schema", "a.csv", COLUMNS=str(width))
    assert max(map(len, done.out.splitlines())) <= width
    assert all(name in done.out for name in ("when", "airport", "miles", "late"))


def test_text_on_standard_input_is_found_from_the_rows_that_come_at_first(maxloss):
    rows = [{"text": text, "y": y} for text, y in messages()]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    words = ["-", "--format", "jsonl", "-t", "y", "--metric", "accuracy", "-o", "jsonl", "--set", "compute=least"]
    done = maxloss("tail", *words, data=data)
    assert done.code == 0, done.err
    assert scores(done)["Accuracy"] > 0.85


def test_a_model_of_river_that_does_not_take_the_rows_is_named_and_the_others_continue(maxloss, tmp_path):
    lines = [f"{n % 5},{'ab'[n % 2]},{n % 2}" for n in range(200)]
    (tmp_path / "a.csv").write_text("\n".join(["x,kind,y", *lines]) + "\n")
    words = ["compare", "a.csv", "-t", "y", "--metric", "accuracy"]
    done = maxloss(*words, "--model", "river.linear_model:LogisticRegression", "--model", "HingeOGD")
    assert done.code == 0, done.err
    assert "continuing without river.linear_model:LogisticRegression: a.csv:2: " in done.err
    assert "HingeOGD" in done.out
    alone = maxloss(*words, "--model", "river.linear_model:LogisticRegression")
    assert alone.code == 2
    assert "a model must take the rows, got none that does" in alone.err


def test_files_that_duckdb_and_jq_write_are_read(maxloss, tmp_path):
    import duckdb

    frame = flights()
    relation = duckdb.from_arrow(pa.Table.from_pandas(frame))
    relation.write_csv(str(tmp_path / "duck.csv"))
    relation.write_parquet(str(tmp_path / "duck.parquet"))
    compact = [
        json.dumps(row, separators=(",", ":")) for row in json.loads(frame.to_json(orient="records", date_format="iso"))
    ]
    (tmp_path / "jq.jsonl").write_text("\n".join(compact))
    for name in ("duck.csv", "duck.parquet", "jq.jsonl"):
        assert run(maxloss, name, "-t", "late")[1] > 0.9
