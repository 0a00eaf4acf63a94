from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.failed_tests import last_failed

ROOT = Path(__file__).parents[2]
TESTS = "import pytest\n@pytest.mark.parametrize('k', range(9))\ndef test_it(k): assert k\n"


def run(folder: Path, failed: list[str] | None) -> subprocess.CompletedProcess[str]:
    (folder / "test_a.py").write_text(TESTS)
    if failed is not None:
        cache = folder / ".pytest_cache/v/cache/lastfailed"
        cache.parent.mkdir(parents=True)
        cache.write_text(json.dumps({f"test_a.py::test_it[{k}]": True for k in failed}))
    command = [sys.executable, "-m", "tools.failed_tests", "--most", "2", "--", "-p", "no:cacheprovider"]
    return subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("failed", [None, [], ["1", "2", "3"]], ids=["no cache", "none", "too many"])
def test_none_and_many_are_not_run_again(tmp_path: Path, failed: list[str] | None) -> None:
    done = run(tmp_path, failed)
    assert done.returncode == 1
    assert "must be 1 to 2" in done.stderr
    assert "test_a.py" not in done.stdout


@pytest.mark.parametrize(("failed", "code"), [(["1", "2"], 0), (["0", "1"], 1)], ids=["pass now", "one fails again"])
def test_a_handful_is_run_once_more_and_alone(tmp_path: Path, failed: list[str], code: int) -> None:
    done = run(tmp_path, failed)
    assert done.returncode == code, done.stdout
    assert done.stdout.count("test_a.py::test_it[1] PASSED") == 1
    assert "test_it[3]" not in done.stdout


def test_the_group_of_a_test_is_not_part_of_its_name(tmp_path: Path) -> None:
    cache = tmp_path / "lastfailed"
    cache.write_text(json.dumps({"a.py::test_b[x@y]@kafka": True, "a.py::test_a": True}))
    assert last_failed(cache) == ["a.py::test_a", "a.py::test_b[x@y]"]
