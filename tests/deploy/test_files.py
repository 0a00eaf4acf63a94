"""What operates a service, parsed and compared with the service: no container engine runs here."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream_maxloss.cli.app import app
from stream_maxloss.serve.meters import Meters

PROJECT = Path(__file__).parents[2]
DEPLOY = PROJECT / "deploy"
HADOLINT = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
HEALTH = {"/v2/health/live", "/v2/health/ready"}


def understood(words: list[str]) -> dict[str, Any]:
    """What `maxloss` makes of a command's words."""
    group: Any = app
    name, *rest = words
    return dict(group.commands[name].make_context(name, rest).params)


def instructions() -> list[tuple[str, str]]:
    text = (PROJECT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split()[0], line.partition(" ")[2]) for line in lines]


@pytest.mark.parametrize("path", [*DEPLOY.glob("*.yaml"), PROJECT / "compose.yaml"], ids=lambda path: path.name)
def test_every_file_of_settings_is_yaml(path):
    assert all(document is not None for document in yaml.safe_load_all(path.read_text()))


def test_the_image_runs_without_root_from_pinned_bases_with_a_health_check():
    found = instructions()
    bases = [words.split()[0] for name, words in found if name == "FROM"]
    assert all(re.fullmatch(r"\S+:\d+\.\d+\S*", base) for base in bases)
    assert [words for name, words in found if name == "USER"][-1] == "10001:10001"
    assert any(name == "HEALTHCHECK" and "/v2/health/ready" in words for name, words in found)
    assert not any(name == "ADD" for name, _ in found)
    assert not any("sudo" in words or "curl" in words for name, words in found if name == "RUN")
    known = {"FROM", "RUN", "COPY", "ENV", "WORKDIR", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK"}
    assert {name for name, _ in found} <= known | {"ENTRYPOINT", "CMD"}
    for name, words in found:
        if name == "COPY" and "--from" not in words:
            assert all((PROJECT / source).exists() for source in words.split()[:-1]), words


@pytest.mark.skipif(HADOLINT is None, reason="no hadolint; the extra dev has it")
def test_the_image_pleases_its_linter():
    done = subprocess.run([HADOLINT, PROJECT / "Dockerfile"], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_the_manifest_is_one_by_the_schemas_of_kubernetes():
    validate = pytest.importorskip("kubernetes_validate", reason="the extra dev has it")
    for document in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()):
        validate.validate(document, "1.31", strict=True)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_the_unit_is_one_for_systemd(tmp_path):
    text = (DEPLOY / "maxloss-serve.service").read_text()
    program = shutil.which("true")
    unit = tmp_path / "maxloss-serve.service"
    unit.write_text(text.replace("/opt/maxloss/bin/maxloss", str(program)))  # which is not installed here
    command = ["systemd-analyze", "verify", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    about = [line for line in done.stderr.splitlines() if "maxloss-serve.service" in line]
    assert (done.returncode, about) == (0, []), done.stderr


def test_the_image_compiles_the_kernels_it_serves_with():
    runs = " & ".join(words for name, words in instructions() if name == "RUN")
    tails = re.findall(r"maxloss (tail [^&]+)", runs)
    assert len(tails) == 2
    for words in tails:
        assert understood(shlex.split(words))["sources"] == ("warm.csv",)


def test_what_the_image_does_on_its_own_is_understood():
    command = json.loads([words for name, words in instructions() if name == "CMD"][-1])
    assert understood(command)["target"] == "label"


def test_the_composition_has_kafka_the_service_and_those_who_watch_it():
    found = yaml.safe_load((PROJECT / "compose.yaml").read_text())
    services = found["services"]
    assert set(services) == {"kafka", "service", "prometheus", "grafana"}
    words = understood(services["service"]["command"])
    assert words["sources"] == ("kafka://kafka:9094/connections?group=maxloss-connections",)
    ports = [port for service in services.values() for port in service["ports"]]
    assert all(port.startswith("127.0.0.1:") for port in ports)
    for service in services.values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in found["volumes"] or (PROJECT / source).is_file(), volume
    assert all(":" in service["image"] for service in services.values() if "image" in service)


def test_prometheus_asks_the_service_that_the_composition_runs():
    found = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text())
    assert found["scrape_configs"][0]["static_configs"][0]["targets"] == ["service:8080"]


def test_the_dashboard_asks_only_for_meters_that_there_are():
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\bmaxloss_\w+", target["expr"])
    }
    families = [family.name for family in Meters().registry.collect()]
    known = {f"{name}{suffix}" for name in families for suffix in ("", "_total", "_bucket")}
    assert asked - known == set()
    assert len(asked) >= 10
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)


def test_the_manifest_has_one_writer_without_rights_and_probes_that_are_answered():
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
    assert [document["kind"] for document in documents] == ["Service", "StatefulSet"]
    service, workload = documents
    spec = workload["spec"]
    assert spec["replicas"] == 1
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"] == service["spec"]["selector"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["path"] in HEALTH
        assert container[probe]["httpGet"]["port"] == container["ports"][0]["name"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"] for volume in pod["volumes"]}
    volumes |= {claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]}
    assert mounted == volumes
    assert understood(container["args"])["target"] == "attack"


def test_the_unit_starts_a_command_that_is_understood():
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment]
    unit.read(DEPLOY / "maxloss-serve.service")
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert program.endswith("/maxloss")
    assert understood(words)["directory"] == Path("/var/lib/maxloss/connections")
    assert unit["Service"]["KillSignal"] == "SIGTERM"
