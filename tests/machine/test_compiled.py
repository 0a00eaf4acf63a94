"""A kernel from the disk needs no compiler, and a compiler that comes later finds it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from stream_maxloss.machine.compiled import compiled

KERNELS = """
import numpy as np
from stream_maxloss.machine.compiled import kept

@kept(error_model="numpy")
def total(values):
    halves = np.zeros(values.shape[0])
    result = 0.0
    for i in range(values.shape[0]):
        halves[i] = values[i] / 2.0
        result += halves[i]
    return result

@kept(error_model="numpy")
def totals(values):
    return total(values) + total(values[1:])
"""
FIRST = """
import sys
import numpy as np
from kernels import total
print(total(np.arange(4.0)), "numba.typed.dictobject" in sys.modules)
"""
THEN = (
    FIRST
    + """
from kernels import totals
print(totals(np.arange(4.0)), sum(total.stats.cache_hits.values()), sum(totals.stats.cache_hits.values()))
"""
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernels.py").write_text(KERNELS)
    return tmp_path


def run(folder: Path, code: str, **extra: str) -> list[str]:
    project = Path(__file__).parents[2]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(project)]), **extra}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=False, env=variables
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_kernel_from_the_disk_loads_without_the_compiler(folder: Path) -> None:
    assert run(folder, FIRST) == ["3.0 True"]
    assert run(folder, FIRST) == ["3.0 False"]


def test_a_kernel_that_calls_one_from_the_disk_is_compiled_after_it(folder: Path) -> None:
    run(folder, FIRST)
    assert run(folder, THEN) == ["3.0 False", "6.0 1 0"]
    assert run(folder, THEN) == ["3.0 False", "6.0 1 1"]


def test_a_kernel_runs_as_python_where_numba_is_told_not_to_compile(folder: Path) -> None:
    code = "import numpy as np, kernels; print(kernels.totals(np.arange(4.0)), type(kernels.total).__name__)"
    assert run(folder, code, NUMBA_DISABLE_JIT="1") == ["6.0 function"]


def test_a_kernel_loads_numbas_way_where_numba_has_changed(folder: Path) -> None:
    run(folder, FIRST)
    changed = "from stream_maxloss.machine import compiled; compiled.CAN_LOAD_ALONE = False\n"
    assert run(folder, changed + THEN.replace("total.stats", "totals.stats")) == ["3.0 True", "6.0 0 0"]
    assert run(folder, changed + THEN) == ["3.0 True", "6.0 1 1"]


def test_an_index_that_names_a_module_that_is_gone_counts_as_empty(folder: Path) -> None:
    cache = folder / "cache"
    run(folder, FIRST, NUMBA_CACHE_DIR=str(cache))
    for index in cache.rglob("*.nbi"):
        # First numba's version, then what is kept, here a class of a module that does not exist.
        with index.open("rb") as file:
            version = pickle.load(file)
        index.write_bytes(pickle.dumps(version) + b"cmodule_that_has_moved\nName\n.")
    assert run(folder, FIRST, NUMBA_CACHE_DIR=str(cache)) == ["3.0 True"]
    assert run(folder, FIRST, NUMBA_CACHE_DIR=str(cache)) == ["3.0 False"]


def test_a_kernel_that_cannot_be_kept_runs_all_the_same(monkeypatch) -> None:
    def full(self, sig, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.FunctionCache.save_overload", full)

    @compiled
    def third_more(x):
        return x + x / 3.0

    assert third_more(3.0) == 4.0
