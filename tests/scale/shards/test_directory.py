from __future__ import annotations

import json

import pytest

from stream_maxloss.errors import CheckpointError, SourceError
from stream_maxloss.linear import Perceptron
from stream_maxloss.scale import Job
from stream_maxloss.scale.shards.directory import JobDirectory


@pytest.fixture
def job(tmp_path):
    day = tmp_path / "day.csv"
    day.write_text("who,x,y\n" + "".join(f"k{i % 7},{i},{i % 2}\n" for i in range(50)))
    return Job(str(day), Perceptron(), "y", tmp_path / "state", per="who", shards=3)


def opened(job, **options):
    directory = JobDirectory(job.directory)
    directory.open(job, **options)
    return directory


def test_a_new_driver_finds_the_shards_and_the_first_rows(job):
    first = opened(job)
    first.close()
    second = opened(job)
    assert second.shards == first.shards
    assert second.head.equals(first.head)
    second.close()


def test_there_is_one_driver(job):
    first = opened(job)
    with pytest.raises(CheckpointError, match="must have one writer"):
        opened(job)
    first.close()
    opened(job).close()


def test_a_job_that_is_cut_otherwise_is_refused_because_keys_would_move(job, tmp_path):
    opened(job).close()
    other = Job(job.source, Perceptron(), "y", tmp_path / "state", per="who", shards=5)
    with pytest.raises(SourceError, match="must be cut as when it began, got 5 shards, and 3 then"):
        opened(other)


def test_another_column_is_refused(job, tmp_path):
    opened(job).close()
    other = Job(job.source, Perceptron(), "y", tmp_path / "state", per="x", shards=3)
    with pytest.raises(CheckpointError, match="whose per was 'who', and now it is 'x'"):
        opened(other)


def test_a_fresh_start_sets_the_old_shards_aside(job, tmp_path):
    opened(job).close()
    (tmp_path / "state" / "shard-0000").mkdir()
    other = Job(job.source, Perceptron(), "y", tmp_path / "state", per="who", shards=5)
    fresh = opened(other, fresh=True)
    assert len(fresh.shards) == 5
    assert not (tmp_path / "state" / "shard-0000").exists()
    fresh.close()


def test_the_directory_of_a_single_run_is_refused(job, tmp_path):
    (tmp_path / "state" / "ckpt-000000000001").mkdir(parents=True)
    with pytest.raises(CheckpointError, match="got the checkpoints of a single run"):
        opened(job)


@pytest.mark.parametrize("text", ["", "{}", "[1]", json.dumps({"version": 9, "shards": [1]})])
def test_a_damaged_description_is_one_line(job, tmp_path, text):
    opened(job).close()
    (tmp_path / "state" / "job.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"job\.json must"):
        opened(job)


def test_the_number_of_workers_is_taken_once_and_checked(job, tmp_path):
    directory = opened(job)
    assert directory.wanted_workers() is None
    (tmp_path / "state" / "workers").write_text("3\n")
    assert directory.wanted_workers() == 3
    assert directory.wanted_workers() is None
    (tmp_path / "state" / "workers").write_text("many")
    with pytest.raises(ValueError, match="must hold a number of workers, got 'many'"):
        directory.wanted_workers()
    directory.close()
