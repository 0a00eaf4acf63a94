"""Jobs on a real Ray cluster of one node; `tests/torture/test_ray_kills.py` has Kafka and what is killed."""

from __future__ import annotations

import os
import random
import signal
import time

import numpy as np
import pytest

from ray_cluster import ray_cluster
from stream_maxloss.checkpoint import CheckpointStore
from stream_maxloss.errors import CheckpointError, DecodeError, SourceError, StreamMaxlossError
from stream_maxloss.linear import HingeOGD, Scaler
from stream_maxloss.run import Columns, Tail
from stream_maxloss.scale import Job, RayRun

pytestmark = pytest.mark.xdist_group("kafka")  # one of a kind on a machine, like the broker
ROWS, SHARDS = 6000, 4


@pytest.fixture(scope="module")
def cluster():
    with ray_cluster() as found:
        yield found


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    generator = random.Random(0)
    path = tmp_path_factory.mktemp("day") / "day.csv"
    lines = ["who,a,b,kind,y"]
    for _ in range(ROWS):
        a, b = generator.gauss(0, 1), generator.gauss(0, 1)
        lines.append(f"k{generator.randrange(40)},{a:.4f},{b:.4f},{generator.choice('xyz')},{int(a + b > 0)}")
    path.write_text("\n".join(lines) + "\n")
    return path


def job_of(day, directory, **changes):
    columns = Columns("y", slice_by="kind", key="who")
    options = {"checkpoint_every": "200", "metrics": ["accuracy", "recall"]}
    settings = {"per": "who", "shards": SHARDS, "options": options}
    return Job(str(day), Scaler() | HingeOGD(), columns, directory, **{**settings, **changes})


def models(directory):
    contents = [CheckpointStore(path).load() for path in sorted(directory.glob("shard-*"))]
    return [{name: array for name, array in one.arrays.items() if "model" in name} for one in contents]


def test_killed_workers_and_a_changing_crew_leave_the_bits_of_shards_that_ran_alone(cluster, day, tmp_path):
    job, said = job_of(day, tmp_path / "state"), []
    for number in range(SHARDS):
        alone = job_of(day, tmp_path / "alone")
        with alone.make_tail(alone.cut()[number], alone.look()[0])[0] as tail:
            tail.run()
    with RayRun(job, 2, cluster.address, report_every="1", say=said.append) as run:
        assert run.crew.dealt == {f"shard-{i:04d}": i % 2 for i in range(4)}
        os.kill(run.crew.pids[0], signal.SIGKILL)
        for number, _ in enumerate(run):
            if number == 0:
                run.rescale(3)
        assert run.finished
        run.rescale(1)
        merged = run.merge()
    assert any("died and was started again" in line or "takes its place" in line for line in said), said
    assert any("2 workers became 3" in line for line in said)
    assert merged.progress.rows == ROWS
    for ours, other in zip(models(tmp_path / "state"), models(tmp_path / "alone"), strict=True):
        assert ours
        assert all(np.array_equal(ours[name], other[name]) for name in other)
    assert merged.slices is not None
    assert sum(part["rows"] for part in merged.slices["slices"].values()) == ROWS


def test_a_bad_record_ends_the_job_with_its_address(cluster, day, tmp_path):
    broken = tmp_path / "broken.csv"
    lines = day.read_text().splitlines()
    lines[500] = lines[500].rsplit(",", 1)[0] + ",perhaps"
    broken.write_text("\n".join(lines) + "\n")
    job = job_of(broken, tmp_path / "state")
    with (
        pytest.raises(StreamMaxlossError, match=r"shard-000\d: .*broken\.csv:501") as caught,
        RayRun(job, 2, cluster.address) as run,
    ):
        run.run()
    assert isinstance(caught.value, DecodeError)


def test_a_worker_with_another_version_is_refused_in_one_line(cluster, day, tmp_path, monkeypatch):
    monkeypatch.setattr("stream_maxloss.scale.ray.worker.__version__", "9.9.9")
    with (
        pytest.raises(SourceError, match=r"must run the driver's stream-maxloss 9\.9\.9, got \d+\.\d+\.\d+ on"),
        RayRun(job_of(day, tmp_path / "state"), 1, cluster.address),
    ):
        pass


def test_a_worker_without_what_the_job_needs_is_refused_in_one_line(cluster, day, tmp_path):
    shadow = tmp_path / "shadow" / "river"
    shadow.mkdir(parents=True)
    (shadow / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'river'\")\n")
    needs = {"env_vars": {"PYTHONPATH": str(shadow.parent)}}
    with (
        pytest.raises(SourceError, match=r"No module named 'river'.*install the same packages") as caught,
        RayRun(job_of(day, tmp_path / "state"), 1, cluster.address, runtime_env=needs),
    ):
        pass
    assert "\n" not in str(caught.value)


def test_a_host_that_was_replaced_cannot_write_while_another_holds_its_shard(day, tmp_path):
    job = job_of(day, tmp_path / "state")
    shard, head = job.cut()[0], job.look()[0]
    with job.make_tail(shard, head)[0] as first:
        first.session.step(200)
        with pytest.raises(CheckpointError, match="must have one writer"):
            job.make_tail(shard, head)[0].__enter__()
    with job.make_tail(shard, head)[0] as second:
        assert isinstance(second, Tail)


def test_a_number_of_workers_written_to_the_directory_is_obeyed(cluster, day, tmp_path):
    growing = tmp_path / "growing.csv"
    growing.write_text("\n".join(day.read_text().splitlines()[:2000]) + "\n")
    job, said = job_of(growing, tmp_path / "state", source_options={"follow": True}), []
    with RayRun(job, 1, cluster.address, report_every="1", say=said.append) as run:
        deadline = time.monotonic() + 60
        run.on_step = lambda: setattr(run.requests, "stopped", "1 workers became 2" in str(said))
        for _ in run:
            (tmp_path / "state" / "workers").write_text("2")
            assert time.monotonic() < deadline
    assert len(run.crew.pids) == 2
