"""The manifest for KubeRay, parsed, and its command understood; no cluster of that kind runs here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from stream_maxloss.cli.app import app

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def parts() -> dict[str, Any]:
    return {part["kind"]: part for part in yaml.safe_load_all((PROJECT / "deploy" / "kuberay.yaml").read_text())}


def pods(parts: dict[str, Any]) -> list[Any]:
    cluster = parts["RayCluster"]["spec"]
    templates = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"], parts["Deployment"]["spec"]]
    return [template["template"]["spec"] for template in templates]


def test_the_command_is_one_that_the_command_line_understands(parts):
    container = parts["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    program, name, *words = [*container["command"], *container["args"]]
    group: Any = app
    found = group.commands[name].make_context(name, words).params
    assert program == "maxloss"
    assert found["ray"].startswith("ray://maxloss-head-svc:")
    assert str(found["checkpoint"]).startswith("/state/")


def test_every_pod_has_the_shared_directory_and_the_same_image(parts):
    claim = parts["PersistentVolumeClaim"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    images = set()
    for pod in pods(parts):
        assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        for container in pod["containers"]:
            assert container["volumeMounts"] == [{"name": "state", "mountPath": "/state"}]
            assert {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"} in container["env"]
            images.add(container["image"])
    assert len(images) == 1


def test_there_are_never_two_drivers_at_a_time(parts):
    spec = parts["Deployment"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
