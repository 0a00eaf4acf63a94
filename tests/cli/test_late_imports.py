"""A run starts without the heavy modules that it does not use, and still has them when it does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import sys
from stream_maxloss.cli.app import run
sys.argv = ["maxloss", *sys.argv[1:]]
try:
    run()
finally:
    loaded = [name for name in {watched!r} if name in sys.modules]
    print("loaded:", loaded, file=sys.stderr)
"""
HEAVY = [
    "pandas",
    "sklearn",
    "matplotlib",
    "scipy.stats._stats_py",
    "scipy.integrate._quadpack_py",
    "river.linear_model",
]


def tail(path: Path, *words: str, watched: list[str] = HEAVY) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", RUN.format(watched=watched), "tail", str(path), "--target", "y", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    lines = [f"{row % 7},{row % 3},{row % 2}" for row in range(200)]
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n" + "\n".join(lines) + "\n")
    return path


def test_a_run_loads_no_heavy_module_that_it_does_not_use(path: Path) -> None:
    done = tail(path)
    assert done.returncode == 0, done.stderr
    assert "loaded: []" in done.stderr


def test_a_metric_that_needs_a_late_module_gets_it(path: Path) -> None:
    watched = ["scipy.stats._stats_py", "scipy.integrate._quadpack_py"]
    done = tail(path, "--metric", "GeometricMean,ROCAUC", watched=watched)
    assert done.returncode == 0, done.stderr
    assert f"loaded: {watched}" in done.stderr
    assert "GeometricMean" in done.stdout
    assert "ROCAUC" in done.stdout
