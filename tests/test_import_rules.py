"""The import rules of pyproject.toml name every package, so that a new one cannot be left out unnoticed."""

from __future__ import annotations

import pkgutil
import tomllib
from pathlib import Path

import pytest

import stream_maxloss

PROJECT = Path(__file__).parents[1]
MODULES = {f"stream_maxloss.{module.name}" for module in pkgutil.iter_modules(stream_maxloss.__path__)}


@pytest.fixture(scope="module")
def contracts() -> dict[str, dict[str, list[str]]]:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    return {contract["name"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}


def test_every_package_has_its_layer(contracts) -> None:
    layers = contracts["Data flows one way"]["layers"]
    assert {f"stream_maxloss.{name}" for layer in layers for name in layer.split(" | ")} == MODULES


def test_connectors_may_import_errors_and_what_the_system_offers_and_nothing_else(contracts) -> None:
    forbidden = contracts["Connectors know only the error types and what the system offers"]["forbidden_modules"]
    assert set(forbidden) == MODULES - {"stream_maxloss.errors", "stream_maxloss.system"}


def test_no_package_but_runs_the_service_and_the_command_line_may_import_connectors(contracts) -> None:
    sources = contracts["Only runs, the service and the command line import connectors"]["source_modules"]
    allowed = {f"stream_maxloss.{name}" for name in ("run", "scale", "serve", "cli")}
    assert set(sources) == MODULES - allowed


def test_no_package_but_the_machines_may_import_numba(contracts) -> None:
    sources = contracts["Only the machine's room knows numba, LLVM and CPython"]["source_modules"]
    assert set(sources) == MODULES - {"stream_maxloss.machine"} | {"stream_maxloss_connectors"}
