"""Importing costs little: nothing is compiled, and nothing heavy is loaded that is not used."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("pyarrow", "pandas", "polars", "matplotlib", "confluent_kafka", "sklearn", "numba", "river")

COMPILED = """
import importlib, pkgutil, numba.core.dispatcher as dispatcher
import stream_maxloss, stream_maxloss.linear
count = 0
for module in pkgutil.walk_packages(stream_maxloss.linear.__path__, "stream_maxloss.linear."):
    for name, thing in vars(importlib.import_module(module.name)).items():
        if isinstance(thing, dispatcher.Dispatcher):
            count += 1
            if thing.overloads:
                print("compiled:", module.name, name)
print("kernels:", count)
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, stream_maxloss; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert run(code).strip() == "[]"


@pytest.mark.parametrize("module", ["stream_maxloss.linear", "stream_maxloss.metrics"])
def test_importing_the_learners_loads_no_plotting_and_no_broker(module: str) -> None:
    code = f"import sys, {module}; print([n for n in ('matplotlib', 'confluent_kafka') if n in sys.modules])"
    assert run(code).strip() == "[]"


def test_importing_the_learners_compiles_no_kernel() -> None:
    output = run(COMPILED)
    assert "compiled:" not in output
    assert int(output.split("kernels:")[1]) > 30
