"""What `maxloss tail --ray` refuses, before anything is opened."""

from __future__ import annotations

import pytest

from ray_cluster import free_port

REFUSED = {
    "no checkpoint": (["--key", "who"], "--ray must come with --checkpoint DIR"),
    "files without a key": (["-c", "state"], "files must be dealt to shards by a column, got none"),
    "limit": (["-c", "state", "--key", "who", "--limit", "9"], "--limit must not come with --ray, got 9"),
    "alert": (["-c", "state", "--key", "who", "--alert", "lag>1"], "--alert must not come with --ray"),
    "decoders": (["-c", "state", "--key", "who", "--decoders", "2"], "--decoders must not come with --ray, got 2"),
    "dry run": (["-c", "state", "--key", "who", "--dry-run"], "--dry-run must not come with --ray"),
    "rolling metric": (
        ["-c", "state", "--key", "who", "--metric", "RollingMaxLoss"],
        "metric RollingMaxLoss must be one that adds up over shards",
    ),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "day.csv").write_text("who,x,y\n" + "".join(f"k{i % 5},{i},{i % 2}\n" for i in range(30)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("words", "line"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_meaning_over_shards_is_one_line(maxloss, folder, words, line):
    result = maxloss("tail", "day.csv", "--target", "y", "--ray", "local", *words)
    assert result.code == 2
    assert line in result.err
    assert result.err.count("\n") == 1


def test_an_address_that_does_not_answer_is_one_line_with_the_exit_code_of_sources(maxloss, folder):
    words = ["--key", "who", "-c", "state", "--ray", f"127.0.0.1:{free_port()}"]
    result = maxloss("tail", "day.csv", "--target", "y", *words)
    assert result.code == 5
    assert "Connection refused; start one there" in result.err
    assert result.err.count("\n") == 1


def test_workers_without_ray_do_nothing_and_are_refused(maxloss, folder):
    result = maxloss("tail", "day.csv", "--target", "y", "--workers", "2")
    assert result.code == 2
    assert "--workers must come with --ray or --mix-every ROWS" in result.err


def test_mixed_workers_say_what_their_scores_are_and_where_the_prices_stand(maxloss, folder):
    words = ["--model", "HingeOGD", "--no-focus", "--workers", "3", "--mix-every", "5"]
    result = maxloss("tail", "day.csv", "--target", "y", "--exclude", "who", *words)
    assert result.code == 0, result.err
    assert "3 workers, mixed 2 times, took turns in this process" in result.err
    assert "docs/mixing.md" in result.err


def test_a_model_without_a_sensible_average_is_one_line(maxloss, folder):
    result = maxloss("tail", "day.csv", "--target", "y", "--workers", "2", "--mix-every", "5")
    assert result.code == 2
    assert "a learner that can be averaged, got AutoClassifier; use --model HingeOGD" in result.err
