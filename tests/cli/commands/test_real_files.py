"""Files as people have them: each becomes features, or one line with the remedy."""

from __future__ import annotations

import datetime as dt
import json
import random
import zipfile

import pytest


def cells(count: int = 150):
    """Return for each row its number, a time, a value and an amount."""
    draw = random.Random(1)
    for place in range(count):
        when = dt.datetime(2026, 1, 1, 0, 7, tzinfo=dt.UTC) + dt.timedelta(hours=7 * place)
        yield place, when, draw.gauss(0, 1), draw.random() * 5e6


WRITTEN = {
    "thousands": (lambda i, t, a, m: f'"{m:,.2f}"', "number"),
    "per cent": (lambda i, t, a, m: f"{a:.1f}%", "number"),
    "dollars": (lambda i, t, a, m: f"${m:.2f}", "number"),
    "owed": (lambda i, t, a, m: f"({m:.2f})", "number"),
    "dashes for none": (lambda i, t, a, m: "-" if i % 3 else f"{a:.3f}", "number"),
    "German date": (lambda i, t, a, m: f"{t:%d.%m.%Y %H:%M}", "hour, weekday, day, gap"),
    "American date": (lambda i, t, a, m: f"{t.month}/{t.day}/{t.year} {t:%I:%M %p}", "hour, weekday, day, gap"),
    "short year": (lambda i, t, a, m: f"{t:%d.%m.%y}", "weekday, day, gap"),
    "e-mail": (lambda i, t, a, m: f'"{t:%a, %d %b %Y %H:%M:%S} GMT"', "hour, weekday, day, gap"),
    "web log": (lambda i, t, a, m: f"{t:%d/%b/%Y:%H:%M:%S} +0000", "hour, weekday, day, gap"),
    "time zones": (lambda i, t, a, m: f"{t.isoformat()[:-6]}+0{i % 3}:00", "hour, weekday, day, gap"),
    "one odd date": (lambda i, t, a, m: "soon" if i == 70 else f"{t:%d.%m.%Y}", "weekday, day, gap"),
    "time of day": (lambda i, t, a, m: f"{t:%I:%M %p}", "hour"),
    "codes": (lambda i, t, a, m: f"{i % 9:05d}", "one per text"),
    "keys": (lambda i, t, a, m: f"{random.Random(i).getrandbits(128):032x}", "left out"),
    "yes and no": (lambda i, t, a, m: "yes" if i % 3 else "no", "one per text"),
    "never": (lambda i, t, a, m: "", "number"),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_what_a_column_is_is_seen_from_how_it_is_written(maxloss, tmp_path, case):
    write, expected = WRITTEN[case]
    lines = [f"{write(*row)},{row[2]:.3f}" for row in cells()]
    (tmp_path / "a.csv").write_text("\n".join(["x,other", *lines]) + "\n")
    done = maxloss("schema", "a.csv", "-o", "jsonl")
    assert done.code == 0, done.err
    assert json.loads(done.out.splitlines()[0])["feature"] == expected


@pytest.mark.parametrize(("unit", "times"), [("s", 1), ("ms", 1000), ("us", 10**6)])
def test_time_since_1970_is_a_date_by_its_name_or_when_asked(maxloss, tmp_path, unit, times):
    lines = [
        f"{int(t.timestamp() * times)},{int(t.timestamp() * times)},{a:.3f},{int(a > 0)}" for _, t, a, _ in cells()
    ]
    (tmp_path / "a.csv").write_text("\n".join(["created_at,x,a,y", *lines]) + "\n")
    for words, expected in (([], "number"), (["--schema", f"x:date:{unit}"], "hour, weekday, day, gap")):
        done = maxloss("schema", "a.csv", "-o", "jsonl", *words)
        found = {column["column"]: column["feature"] for column in map(json.loads, done.out.splitlines())}
        assert (found["created_at"], found["x"]) == ("hour, weekday, day, gap", expected)
    done = maxloss("tail", "a.csv", "-t", "y", "--dates", "x", "--set", "compute=least")
    assert done.code == 0, done.err


def test_values_of_numbers_as_people_write_them_are_those_that_are_learned(maxloss, tmp_path):
    plain, written = [], []
    for _, _, a, m in cells():
        plain.append(f"{m:.2f};{a:.2f};{int(a > 0)}")
        amount = f"{m:,.2f}".translate(str.maketrans(",.", ".,"))
        written.append(f"{amount} €;{f'{a:.2f}'.replace('.', ',')};{int(a > 0)}")
    for name, lines in (("plain", plain), ("written", written)):
        (tmp_path / f"{name}.csv").write_text("\n".join(["m;a;y", *lines]) + "\n")
        words = ["-t", "y", "--set", "compute=least", "-p", f"{name}.jsonl", "-q"]
        assert maxloss("tail", f"{name}.csv", *words).code == 0
    assert (tmp_path / "plain.jsonl").read_text() == (tmp_path / "written.jsonl").read_text()


def test_keys_and_counters_are_reported_once(maxloss, tmp_path):
    lines = [f"{place},k{place:04x},{a:.3f},{int(a > 0)}" for place, _, a, _ in cells()]
    (tmp_path / "a.csv").write_text("\n".join(["order,id,a,y", *lines]) + "\n")
    done = maxloss("tail", "a.csv", "-t", "y", "--set", "compute=least")
    assert done.err.count("column 'id' is left out: every row has another value") == 1
    assert done.err.count("column 'order' counts the rows; if it is a key, --key order") == 1
    assert maxloss("tail", "a.csv", "-t", "y", "--set", "compute=least", "--key", "id", "--exclude", "order").err == ""
    taken = maxloss("schema", "a.csv", "--schema", "id:category", "-o", "jsonl")
    assert json.loads(taken.out.splitlines()[1])["feature"] == "one per text"


def plain_text(delimiter: str = ",") -> str:
    lines = [f"{a:.3f}{delimiter}{int(a > 0)}" for _, _, a, _ in cells()]
    return "\n".join([f"a{delimiter}y", *lines]) + "\n"


def rows_of_json() -> list[dict[str, object]]:
    return [{"a": a, "y": a > 0} for _, _, a, _ in cells()]


READ = {
    "sep=;": ("a.csv", lambda: "sep=;\r\n" + plain_text(";").replace("\n", "\r\n")),
    "txt": ("a.txt", lambda: plain_text("|")),
    "json lines called json": ("a.json", lambda: "".join(json.dumps(row) + "\n" for row in rows_of_json())),
    "numbers as JSON strings": (
        "a.jsonl",
        lambda: "".join(json.dumps({"a": f"{row['a']:.2f}", "y": row["y"]}) + "\n" for row in rows_of_json()),
    ),
}


@pytest.mark.parametrize("case", READ)
def test_files_are_read_as_they_are(maxloss, tmp_path, case):
    name, make = READ[case]
    (tmp_path / name).write_bytes(make().encode())
    columns = maxloss("schema", name, "-o", "jsonl").out.splitlines()
    assert [json.loads(column)["column"] for column in columns] == ["a", "y"]
    assert json.loads(columns[0])["feature"] == "number"
    assert maxloss("tail", name, "-t", "y", "--set", "compute=least").code == 0


def archive(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("xl/workbook.xml", "<x/>")


REFUSED = {
    "array": ("a.json", lambda: json.dumps(rows_of_json()), 5, "got an array of them; jq -c '.[]' FILE converts it"),
    "indented": ("a.jsonl", lambda: json.dumps({"a": 1}, indent=2), 5, "over several lines; jq -c . FILE converts it"),
    "frame": ("a.json", lambda: '{"a":{"0":1.5,"1":2.5}}', 5, "orient='records', lines=True"),
    "spreadsheet": ("a.xlsx", archive, 5, "got a spreadsheet; save it as CSV"),
    "spreadsheet as CSV": ("a.csv", archive, 5, "a zip archive, or a spreadsheet"),
    "database": ("a.duckdb", lambda: "x", 5, "got a database; write the table to CSV or Parquet"),
    "pickle": ("a.pkl", lambda: "x", 5, "write it with to_parquet"),
    "bzip2": ("a.csv.bz2", lambda: "x", 5, "unpack it, or use gzip or zstd"),
    "UTF-16": ("a.csv", lambda: plain_text().encode("utf-16"), 5, "iconv -f UTF-16 -t UTF-8"),
    "Latin-1": ("a.csv", lambda: "stadt,y\nKöln,1\n".encode("latin-1"), 3, "iconv -f WINDOWS-1252 -t UTF-8"),
    "Latin-1 header": ("a.csv", lambda: "größe,y\n1,1\n".encode("latin-1"), 5, "iconv -f WINDOWS-1252 -t UTF-8"),
    "a title": ("a.csv", lambda: "Report of sales\n\n" + plain_text(), 3, "tail -n +N FILE"),
    "two columns of one name": ("a.csv", lambda: "a,a,y\n1,2,1\n", 5, "got 'a' twice; rename one of them"),
    "another ending": ("a.foo", lambda: "x", 5, "or say what it is: --format csv"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_table_is_one_line_with_the_remedy(maxloss, tmp_path, case):
    name, make, code, message = REFUSED[case]
    made = make(tmp_path / name) if make is archive else make()
    if made is not None:
        (tmp_path / name).write_bytes(made if isinstance(made, bytes) else made.encode())
    for words in (["schema", name], ["tail", name, "-t", "y"]):
        done = maxloss(*words)
        assert (done.code, done.out) == (code, "")
        assert message in done.err
        assert done.err.count("\n") == 1


def test_columns_of_views_and_uuids_that_polars_and_duckdb_write(maxloss, tmp_path):
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    frame = polars.DataFrame({"a": [float(i) for i in range(120)], "y": [i % 2 for i in range(120)]})
    frame = frame.with_columns(polars.lit("x").cast(polars.Categorical).alias("c"), polars.lit("t").alias("s"))
    frame.write_ipc(tmp_path / "a.arrow")
    columns = "i::double as a, i % 2 as y, uuid() as u, {'k': 1, 'z': [1, 2]} as s, date '2026-01-01' as d"
    duckdb.sql(f"copy (select {columns} from range(120) t(i)) to '{tmp_path / 'a.parquet'}'")
    for name in ("a.arrow", "a.parquet"):
        assert maxloss("schema", name).code == 0
        done = maxloss("tail", name, "-t", "y", "--set", "compute=least", "--exclude", "a")
        assert done.code == 0, done.err
    assert "column 'u' is left out" in done.err


def test_several_columns_without_a_name_are_no_error(maxloss, tmp_path):
    rows = "".join(f"{i * 7 % 50},,{i % 2},,\n" for i in range(120))
    (tmp_path / "sheet.csv").write_text("a,,y,,\n" + rows)
    for words in (["schema", "sheet.csv"], ["tail", "sheet.csv", "-t", "y", "--set", "compute=least"]):
        done = maxloss(*words)
        assert done.code == 0, done.err
        assert done.err.count("it has no name") == 1


def test_the_index_of_a_pandas_frame_is_no_feature(maxloss, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [float(i) for i in range(120)], "y": [i % 2 for i in range(120)]})
    frame.sample(frac=1, random_state=1).to_parquet(tmp_path / "a.parquet")
    done = maxloss("schema", "a.parquet")
    assert "column '__index_level_0__' is left out: it is the index of a pandas frame" in done.err
