from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from tools import try_wheel

PROJECT = Path(__file__).parents[2]


def test_every_declared_version_is_tried_and_no_other():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    declared = [line.rpartition(" ")[2] for line in project["classifiers"] if ":: Python :: 3." in line]
    assert tuple(declared) == try_wheel.VERSIONS


def test_this_interpreter_is_found_and_a_launcher_that_starts_nothing_is_not(tmp_path, monkeypatch):
    launcher = tmp_path / "python3.13"
    launcher.write_text("#!/bin/sh\nexit 127\n")
    launcher.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert try_wheel.find_interpreters() == {f"3.{sys.version_info.minor}": sys.executable}


def test_without_a_wheel_it_says_what_builds_one(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["try_wheel", "missing.whl"])
    with pytest.raises(SystemExit, match=r"must be given one wheel, got \['missing.whl'\]; make wheel builds it"):
        try_wheel.main()
