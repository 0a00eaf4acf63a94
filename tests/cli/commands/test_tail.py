from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[4] / "shared" / "data"
DATA = Path(os.environ.get("STREAM_MAXLOSS_DATA", SHARED))


def last_report(text: str) -> dict:
    return json.loads(text.splitlines()[-1])


def test_plain_lines_come_on_a_doubling_schedule_with_a_baseline_beside_them(maxloss, day):
    done = maxloss("tail", day, "--target", "fraud", "--slice-by", "kind")
    assert done.code == 0, done.err
    assert done.err == ""
    head, *lines = done.out.splitlines()
    assert head.split() == ["rows", "Accuracy", "since", "last", "constant", "TailLoss", "rows/s", "worst", "slice"]
    table = [line.split() for line in lines[: lines.index("")]]
    assert [int(cells[0]) for cells in table] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert "500 rows in" in done.out
    assert "rare <- worst" in done.out
    assert "constant prediction" in done.out


def test_json_lines_have_a_versioned_schema_and_no_colour(maxloss, day):
    words = ["tail", day, "--target", "fraud", "--slice-by", "kind", "-o", "jsonl", "--report-every", "100"]
    done = maxloss(*words, FORCE_COLOR="1")
    assert "\x1b" not in done.out + done.err
    records = [json.loads(line) for line in done.out.splitlines()]
    assert [record["rows"] for record in records] == [100, 200, 300, 400, 500, 500]
    assert [record["event"] for record in records] == ["progress"] * 5 + ["end"]
    fields = {"v", "event", "ts", "rows", "learned", "bad", "metric", "rate", "lag", "lag_unit"}
    fields |= {"positions", "ckpt", "worst_slice", "worst_interval", "run_rows", "rate_of_run", "no_better"}
    assert set(records[0]) == fields
    assert set(records[-1]) == fields | {"slices", "rule"}
    assert records[0]["v"] == 1
    assert records[0]["metric"]["Accuracy"]["total"] == records[0]["metric"]["Accuracy"]["since_last"]
    assert records[-1]["lag"] == 0
    assert records[-1]["worst_slice"]["name"] == "rare"


def test_the_scores_are_those_of_the_library(maxloss, day):
    import pyarrow.csv
    from river import metrics

    from stream_maxloss.evaluate import progressive
    from stream_maxloss.focus import FocusedClassifier
    from stream_maxloss.linear import LLD, Scaler

    words = ["--model", "lld", "--window", "50", "--seed", "3", "--set", "mu=2.0", "--weight", "importance"]
    done = maxloss("tail", day, "--target", "fraud", *words, "--metric", "recall,logloss", "-o", "jsonl")
    table = pyarrow.csv.read_csv(day)
    metric = metrics.Recall() + metrics.LogLoss()
    model = Scaler() | FocusedClassifier(LLD(mu=2.0), window=50, seed=3)
    *_, progress = progressive([table], model, metric, target="fraud", weight="importance")
    found = last_report(done.out)["metric"]
    assert found["Recall"]["total"] == progress.values["Recall"]
    assert found["LogLoss"]["total"] == pytest.approx(progress.values["LogLoss"], abs=1e-9)


def test_delayed_labels_are_scored_and_learned_as_the_library_does(maxloss, day):
    import pyarrow.csv
    from river import metrics

    from stream_maxloss.evaluate import progressive
    from stream_maxloss.linear import Perceptron

    words = ["--model", "perceptron", "--no-focus", "--no-scale", "--metric", "accuracy", "--delay", "20"]
    done = maxloss("tail", day, "--target", "fraud", *words, "-o", "jsonl")
    metric = metrics.Accuracy()
    *_, progress = progressive([pyarrow.csv.read_csv(day)], Perceptron(), metric, target="fraud", delay=20)
    assert last_report(done.out)["metric"]["Accuracy"]["total"] == progress.values["Accuracy"]


def test_a_delayed_run_continues_with_the_rows_that_were_waiting(maxloss, day, state_of, tmp_path):
    words = ["tail", day, "--target", "fraud", "--window", "50", "--delay", "30", "--checkpoint-every", "100"]
    assert maxloss(*words, "-c", "straight").code == 0
    assert maxloss(*words, "-c", "resumed", "--limit", "250").code == 0
    assert maxloss(*words, "-c", "resumed").code == 0
    assert state_of(tmp_path / "resumed") == state_of(tmp_path / "straight")


def test_a_regressor_predicts_numbers(maxloss, day, tmp_path):
    words = ["--target", "a", "--features", "b,c", "--model", "absolute", "-p", "out.csv", "-q"]
    done = maxloss("tail", day, *words)
    assert (done.code, done.out, done.err) == (0, "", "")
    head, *rows = (tmp_path / "out.csv").read_text().splitlines()
    assert head == '"row","label","prediction"'
    assert len(rows) == 500


def test_predict_says_what_tail_would_say_next_and_learns_nothing(maxloss, day, rows_of, tmp_path):
    words = ["--target", "fraud", "--window", "100"]
    assert maxloss("tail", day, *words, "-c", "checkpoints").code == 0
    header, *rows = rows_of(600)
    (tmp_path / "next.csv").write_text("\n".join([header, rows[500]]) + "\n")
    done = maxloss("predict", "next.csv", "-c", "checkpoints")
    assert done.code == 0, done.err
    first = json.loads(done.out)
    assert maxloss("predict", "next.csv", "-c", "checkpoints").out == done.out
    (tmp_path / "more.csv").write_text("\n".join([header, *rows[:501]]) + "\n")
    assert maxloss("tail", "more.csv", *words, "-p", "out.jsonl").code == 0
    said = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[-1])
    assert said["prediction"] == first["prediction"]
    assert said["probability"] == pytest.approx(first["probability"], abs=1e-12)
    assert "label" not in first


def test_predict_scores_where_the_label_is_known(maxloss, day):
    assert maxloss("tail", day, "--target", "fraud", "-c", "checkpoints").code == 0
    done = maxloss("predict", day, "-c", "checkpoints", "--target", "fraud", "--slice-by", "kind", "-p", "out.arrows")
    assert done.code == 0
    assert done.out == ""
    assert "500 rows" in done.err
    assert "<- worst" in done.err


def test_predict_names_the_columns_that_the_model_misses(maxloss, day, tmp_path):
    assert maxloss("tail", day, "--target", "fraud", "-c", "checkpoints").code == 0
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    done = maxloss("predict", "other.csv", "-c", "checkpoints")
    assert done.code == 2
    assert "the source must have the columns that the model was learned from (a, b, c, kind, importance)" in done.err
    assert maxloss("predict", "other.csv", "-c", "nowhere").code == 4


def test_options_come_from_a_file_and_the_command_line_wins(maxloss, day, tmp_path):
    (tmp_path / "run.toml").write_text(
        'source = "day.csv"\ntarget = "fraud"\n'
        '[tail]\nreport-every = "100"\nmetric = ["recall", "f1"]\noutput = "jsonl"\n'
    )
    done = maxloss("tail", "--config", "run.toml", "--report-every", "250")
    assert done.code == 0, done.err
    records = [json.loads(line) for line in done.out.splitlines()]
    assert [record["rows"] for record in records] == [250, 500, 500]
    assert list(records[0]["metric"]) == ["Recall", "F1"]
    (tmp_path / "wrong.toml").write_text('targt = "fraud"\n')
    wrong = maxloss("tail", day, "--config", "wrong.toml")
    assert wrong.code == 2
    assert "did you mean 'target'?" in wrong.err


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(maxloss, day, tmp_path):
    done = maxloss("tail", day, "--target", "fraud", "-c", "checkpoints", "-p", "out.jsonl", "--dry-run")
    assert done.code == 0
    assert "features     a, b, c, kind, importance" in done.out
    assert {path.name for path in tmp_path.iterdir()} == {"day.csv"}


def test_rows_that_the_model_refuses_are_bad_records_with_an_address(maxloss, day):
    lines = day.read_text().splitlines()
    lines[100] = "inf,1,1,usual,1,true"
    day.write_text("\n".join(lines) + "\n")
    done = maxloss("tail", day, "--target", "fraud")
    assert done.code == 3
    assert "day.csv:101: feature 'a' must be finite, got inf" in done.err
    skipped = maxloss("tail", day, "--target", "fraud", "--on-bad", "skip", "-o", "jsonl")
    assert (last_report(skipped.out)["rows"], last_report(skipped.out)["bad"]) == (499, 1)


def test_a_full_disk_is_a_clear_error_and_earlier_checkpoints_stay(maxloss, python, day, tmp_path):
    words = ["tail", day, "--target", "fraud", "-c", "checkpoints"]
    assert maxloss(*words, "--limit", "200").code == 0
    before = sorted((tmp_path / "checkpoints").glob("ckpt-*"))
    script = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from stream_maxloss.cli import main\n"
        f"sys.argv = {['maxloss', *map(str, words), '-q']!r}\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n"
        "main()\n"
    )
    limited = python("-c", script)
    assert limited.code == 4
    assert "earlier checkpoints are intact" in limited.err
    assert sorted((tmp_path / "checkpoints").glob("ckpt-*")) == before
    assert maxloss(*words).code == 0


def test_svmlight_text_is_learned(maxloss, tmp_path):
    lines = [f"{1 if i % 3 else -1} {1 + i % 3}:1.0 {10 + i % 7}:{0.1 * (i % 5)}" for i in range(400)]
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    done = maxloss("tail", "rows.svm", "--target", "target", "--window", "50", "-o", "jsonl")
    assert done.code == 0, done.err
    assert last_report(done.out)["metric"]["Accuracy"]["total"] > 0.9


TREE = ["--model", "river.tree:HoeffdingTreeClassifier", "--set", "grace_period=50"]


def test_a_river_tree_needs_permission_to_be_pickled_and_then_continues(maxloss, day, tmp_path):
    words = ["tail", day, "--target", "kind", *TREE, "--checkpoint-every", "100", "-p"]
    refused = maxloss(*words, "out.jsonl", "-c", "refused")
    assert refused.code == 4
    assert "--allow-pickle" in refused.err
    assert len(refused.err.splitlines()) == 1
    assert maxloss(*words, "straight.jsonl", "-c", "straight", "--allow-pickle").code == 0
    assert maxloss(*words, "resumed.jsonl", "-c", "resumed", "--allow-pickle", "--limit", "250").code == 0
    assert maxloss(*words, "resumed.jsonl", "-c", "resumed", "--allow-pickle").code == 0
    assert (tmp_path / "resumed.jsonl").read_bytes() == (tmp_path / "straight.jsonl").read_bytes()
    said = json.loads((tmp_path / "resumed.jsonl").read_text().splitlines()[-1])
    assert said["prediction"] in ("usual", "rare")


def test_a_factory_of_the_users_own_is_found_in_the_working_directory(maxloss, day, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from river import linear_model, preprocessing\n"
        "def make(l2=0.0):\n"
        "    return preprocessing.StandardScaler() | linear_model.LogisticRegression(l2=l2)\n"
    )
    words = ["--model", "mine:make", "--set", "l2=0.01", "--exclude", "kind", "-o", "jsonl"]
    done = maxloss("tail", day, "--target", "fraud", *words)
    assert done.code == 0, done.err
    assert last_report(done.out)["metric"]["Accuracy"]["total"] > 0.7


@pytest.mark.data
def test_attacks_of_nsl_kdd_are_scored_by_category(maxloss, tmp_path):
    path = DATA / "nsl_kdd" / "nsl_kdd.parquet"
    if not path.exists():
        pytest.skip(f"no real data: {path} is absent; set STREAM_MAXLOSS_DATA to its folder")
    import numpy as np
    import pyarrow.csv
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    order = np.random.default_rng(0).permutation(table.num_rows)[:20_000]
    pyarrow.csv.write_csv(table.take(order), tmp_path / "nsl.csv")
    excluded = "attack,difficulty,label_r2l,label_u2r,split"
    words = ["tail", "nsl.csv", "--target", "label", "--slice-by", "category", "--exclude", excluded, "-o", "jsonl"]
    words += ["--model", "HingeOGD"]
    focused = last_report(maxloss(*words, "--window", "5000", "--replays", "5").out)
    bare = last_report(maxloss(*words, "--no-focus").out)
    assert focused["rows"] == bare["rows"] == 20_000
    assert {"normal", "dos", "probe", "r2l", "u2r"} <= {name.lower() for name in focused["slices"]}
    assert focused["metric"]["Accuracy"]["total"] > 0.93
    rare = next(name for name in focused["slices"] if name.lower() == "r2l")
    assert focused["slices"][rare]["Accuracy"] > bare["slices"][rare]["Accuracy"]
