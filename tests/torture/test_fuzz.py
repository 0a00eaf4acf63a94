"""The short form of the fuzzers, the faults and the soak; `make torture` has the long one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from .children import run_child
from .faults import FAULTS, run_fault, why_not
from .serve_fuzz import fuzz


def test_damaged_records_are_rows_or_faults_in_every_decoder() -> None:
    result = run_child("decoder_fuzz", 20_000, 11)
    assert not result["failures"], result
    assert result["records"] >= 20_000


def test_odd_rows_are_learned_or_refused_with_the_debugging_allocator_too() -> None:
    assert run_child("row_fuzz", 2000, 12)["failures"] == 0
    assert run_child("row_fuzz", 1000, 13, debug=True)["failures"] == 0


def test_changed_checkpoints_are_refused_by_all_or_gone_on_with() -> None:
    result = run_child("checkpoint_fuzz", 76, 14)
    assert result["failures"] == 0, result
    assert result["refused"] > 10, result
    assert result["taken"] > 10, result


def test_a_model_can_be_read_while_another_thread_writes_to_it() -> None:
    result = run_child("threads", 1, 15)
    assert result["failures"] == [], result
    assert all(counts["read"] > 10 and counts["written"] > 10 for counts in result["calls"].values()), result


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_line_and_a_documented_exit_code(name: str, tmp_path: Path) -> None:
    if reason := why_not(name):
        pytest.skip(f"needs a mount that only one process sees: {reason}")
    assert run_fault(name, tmp_path) == []


@pytest.mark.parametrize("distinct", [0, 10**9])
def test_memory_and_checkpoints_stay_flat_also_when_text_never_comes_twice(distinct: int) -> None:
    result = run_child("soak", 400_000, 5000, distinct)
    assert result["memory_growth"] < 0.05, result
    assert result["checkpoint_growth"] < 0.1, result


def test_a_service_answers_any_request_with_2xx_or_4xx(tmp_path):
    found = asyncio.run(fuzz(tmp_path, 400, seed=3))
    assert found["tracebacks"] == 0
    assert {200, 400, 404, 405, 415, 422} <= found["statuses"].keys()
