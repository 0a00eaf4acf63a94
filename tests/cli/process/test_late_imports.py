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
    "river.linear_model",
    "scipy.integrate._quadpack_py",
    "scipy.linalg._basic",
    "scipy.stats._stats_py",
    "narwhals.expr",
    "pydantic",
    "pyarrow.compute",
    "pyarrow.parquet",
    "numba.typed.dictobject",
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
    tail(path)  # compiles what no run before has compiled
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


LATE = """
import sys
from stream_maxloss.cli.process.late_imports import LateImports
LateImports.install()
import scipy.linalg.cython_blas
import scipy.linalg
assert "scipy.linalg._basic" not in sys.modules
from scipy.linalg import svd
import numpy
assert svd(numpy.eye(2))[1].tolist() == [1.0, 1.0]
assert scipy.linalg.inv is sys.modules["scipy.linalg"].inv
assert not hasattr(scipy.linalg, "nothing_of_the_kind")
print("done")
"""


def test_a_late_package_gives_its_modules_at_once_and_its_own_names_when_they_are_used() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "done\n", done.stderr
