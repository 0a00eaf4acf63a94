"""Files for releases say the same as pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import stream_maxloss

PROJECT = Path(__file__).parents[2]
DEPENDENCIES = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["dependencies"]
RECIPE = (PROJECT / "packaging" / "conda" / "meta.yaml").read_text()


@pytest.mark.parametrize("dependency", DEPENDENCIES)
def test_the_recipe_for_conda_needs_the_same_versions(dependency):
    name, bounds = re.fullmatch(r"([a-z-]+)(.*)", dependency).groups()
    assert f"    - {name} {bounds}\n" in RECIPE


@pytest.mark.parametrize("path", ["CITATION.cff", "packaging/conda/meta.yaml"])
def test_the_version_is_that_of_the_package(path):
    found = re.search(r'version(?: =|:) "?(\d+\.\d+\.\d+)', (PROJECT / path).read_text().replace("cff-version", "cff"))
    assert found[1] == stream_maxloss.__version__


@pytest.mark.parametrize("path", sorted((PROJECT / ".github").rglob("*.yml")), ids=lambda path: path.stem)
def test_workflows_and_templates_are_yaml(path):
    assert yaml.safe_load(path.read_text())
