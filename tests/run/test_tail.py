"""A Python user has what `maxloss tail` has."""

from __future__ import annotations

import json
import logging

import pytest
from river import linear_model, metrics

from stream_maxloss.errors import DecodeError, UsageError
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Scaler
from stream_maxloss.run import Columns, Requests, Tail

COLUMNS = Columns("fraud", slice_by="kind")


def make_model():
    return Scaler() | FocusedClassifier(HingeOGD(), window=100, replays=2, seed=1)


def make_tail(source, folder, **options):
    folder.mkdir(exist_ok=True)
    places = {"checkpoint": folder / "state", "predictions": folder / "out.jsonl"}
    return Tail(
        source,
        make_model(),
        COLUMNS,
        metrics=["accuracy"],
        bad_records=f"dlq={folder / 'bad.jsonl'}",
        **places,
        **options,
    )


@pytest.fixture
def broken_day(day):
    """A file with two malformed lines and one value that no learner takes."""
    lines = day.read_text().splitlines()
    lines[50], lines[300] = "nonsense", "more nonsense"
    lines[200] = "inf" + lines[200][lines[200].index(",") :]
    day.write_text("\n".join(lines) + "\n")
    return day


@pytest.mark.parametrize("options", [{}, {"delay": 7}], ids=["at once", "delayed labels"])
def test_a_run_that_was_stopped_continues_as_if_it_had_not_been(broken_day, tmp_path, state_of, options):
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    with make_tail(broken_day, straight, **options) as run:
        end = run.run()
    for limit in (120, 350, None):
        with make_tail(broken_day, stopped, limit=limit, **options) as run:
            last = run.run()
    assert (last.rows, last.bad, last.values, last.worst) == (end.rows, end.bad, end.values, end.worst)
    assert (end.rows, end.learned, end.bad) == (497, 497, 3)
    ignored = ("value predictions", "outputs")
    assert state_of(stopped / "state", ignored) == state_of(straight / "state", ignored)
    for name in ("out.jsonl", "bad.jsonl"):
        assert (stopped / name).read_bytes() == (straight / name).read_bytes()


def test_refused_rows_and_malformed_records_are_dead_letters_with_their_address(broken_day, tmp_path):
    with make_tail(broken_day, tmp_path / "run") as run:
        run.run()
    letters = [json.loads(line) for line in (tmp_path / "run" / "bad.jsonl").read_text().splitlines()]
    reasons = {letter["address"].rpartition(":")[2]: letter["reason"] for letter in letters}
    assert sorted(reasons) == ["201", "301", "51"]
    assert reasons["201"].startswith("feature 'a' must be finite, got inf")


def test_without_a_policy_the_first_bad_record_stops_the_run(broken_day):
    with Tail(broken_day, make_model(), COLUMNS) as run, pytest.raises(DecodeError, match=r"day\.csv:51"):
        run.run()


def test_progress_is_yielded_at_the_reports_and_measured_at_the_end(day):
    with Tail(day, make_model(), "fraud", metrics=metrics.Accuracy() + metrics.F1(), report_every="200") as run:
        reports = list(run)
    assert [progress.rows for progress in reports] == [200, 400]
    end = run.measure()
    assert end.rows == end.learned == 500
    assert list(end.values) == ["Accuracy", "F1"]


def test_a_request_to_stop_is_heard_between_two_batches(day, tmp_path):
    requests = Requests()
    options = {"checkpoint": tmp_path / "state", "report_every": "100", "requests": requests}
    with Tail(day, make_model(), COLUMNS, **options) as run:
        for progress in run:
            requests.stopped = progress.rows == 300
    assert run.session.rows == 300
    with Tail(day, make_model(), COLUMNS, checkpoint=tmp_path / "state") as run:
        assert run.session.rows == 300
        assert run.run().rows == 500


def test_a_requested_checkpoint_is_written_at_once(day, tmp_path):
    requests = Requests()
    options = {"checkpoint": tmp_path / "state", "checkpoint_every": "1000000", "report_every": "100"}
    with Tail(day, make_model(), COLUMNS, requests=requests, **options) as run:
        for progress in run:
            requests.checkpoint_wanted = progress.rows == 200
            if progress.rows == 300:
                assert run.store.saved_rows == 200


def test_where_a_run_continues_is_logged(day, tmp_path, caplog):
    logger = logging.getLogger("stream_maxloss.run")
    propagates, logger.propagate = logger.propagate, True
    try:
        with caplog.at_level(logging.INFO, logger="stream_maxloss.run"):
            for limit in (100, 200):
                with Tail(day, make_model(), COLUMNS, checkpoint=tmp_path / "state", limit=limit) as run:
                    run.run()
    finally:
        logger.propagate = propagates
    assert "resuming from checkpoint 1 at row 100" in caplog.text or "at row 100" in caplog.text


def test_predicting_learns_nothing_and_leaves_out_refused_rows(broken_day, tmp_path):
    model = make_model()
    with Tail(broken_day, model, COLUMNS, bad_records="skip") as run:
        run.run()
    before = model.predict_proba_one({"a": 1.0, "b": 2.0})
    options = {"bad_records": "skip", "predictions": tmp_path / "out.jsonl", "learn": False}
    with Tail(broken_day, model, COLUMNS, **options) as run:
        end = run.run()
    assert (end.rows, end.learned, end.bad) == (497, 0, 3)
    assert model.predict_proba_one({"a": 1.0, "b": 2.0}) == before
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 497


def test_delayed_rows_of_a_model_without_weights_are_learned_alike(day):
    model = linear_model.Perceptron()
    assert "w" in model.learn_one.__code__.co_varnames  # a model with weights, for comparison
    from river import neighbors

    columns = Columns("fraud", weight="importance", exclude=("kind",))
    with Tail(day, neighbors.KNNClassifier(), columns, delay=5, limit=60) as run:
        assert run.run().rows == 60


MISTAKES = {
    "column": ({"columns": "fruad"}, UsageError, "target must name a column, got 'fruad'; did you mean 'fraud'"),
    "metric": ({"metrics": ["acuracy"]}, UsageError, "did you mean 'Accuracy'"),
    "unfit metric": ({"metrics": metrics.MAE()}, UsageError, "metric MAE cannot score this model"),
    "schedule": ({"report_every": "often"}, UsageError, "report_every must be a number of rows"),
    "delay": ({"delay": -1}, ValueError, "delay must not be negative"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_an_error_with_the_remedy(day, case):
    options, kind, message = MISTAKES[case]
    with pytest.raises(kind, match=message), Tail(day, make_model(), **{"columns": "fraud", **options}) as run:
        run.run()


def test_what_becomes_of_many_columns_is_decided_in_time_linear_in_them(python):
    code = (
        "import pyarrow as pa\n"
        "from stream_maxloss.run.columns import Columns\n"
        "from stream_maxloss.run.feed import RowFeed\n"
        "from stream_maxloss_connectors import BadRecords\n"
        "column = pa.array([1.5, 2.5])\n"
        "rows = pa.RecordBatch.from_arrays([column] * 40_000, names=[f'c{i}' for i in range(40_000)])\n"
        "feed = RowFeed(None, Columns('y', may_lack=('target',)), None, BadRecords('skip'), head=rows)\n"
        "print(feed.split(rows, str).X.num_columns)\n"
    )
    # With time that grows by the square this would take minutes, and be given up.
    done = python("-c", code)
    assert (done.code, done.out) == (0, "40000\n"), done.err
