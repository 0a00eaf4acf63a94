"""What the pages show is what a reader sees: their console blocks are run."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import os
import pkgutil
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from tools.site.console import Step, block_steps, read_steps, run_step, write_page

PROJECT = Path(__file__).parents[2]
DOCS = PROJECT / "docs"
KAFKA = DOCS / "tutorials" / "kafka.md"
RAY = DOCS / "tutorials" / "scaling.md"
RECIPES = {page for page in DOCS.glob("howto/*.md") if "```console" in page.read_text(encoding="utf-8")}
PAGES = sorted({DOCS / "start.md", *DOCS.glob("tutorials/*.md"), *RECIPES} - {KAFKA, RAY})
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_tutorial_prints_what_its_page_shows(page: Path, tmp_path: Path) -> None:
    follow(page, tmp_path, {"PORT": str(free_port())})


@pytest.mark.parametrize("page", [PROJECT / "README.md", DOCS / "commands" / "demo.md"], ids=lambda page: page.name)
def test_the_demonstration_prints_the_table_that_a_page_shows(page: Path, tmp_path: Path) -> None:
    printed = run_step(Step("maxloss demo 2> /dev/null", ""), tmp_path, {})
    assert len(printed.splitlines()) == 6, printed
    assert printed in page.read_text(encoding="utf-8"), f"it printed:\n{printed}"


@pytest.mark.kafka
@pytest.mark.xdist_group("kafka")
def test_every_command_of_the_kafka_tutorial_prints_what_its_page_shows(kafka_broker: Any, tmp_path: Path) -> None:
    kafka_broker.create_topic(name="scored")
    follow(KAFKA, tmp_path, {"BROKER": kafka_broker.bootstrap})


@pytest.mark.xdist_group("kafka")
def test_every_command_of_the_tutorial_on_scaling_prints_what_its_page_shows(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    follow(RAY, tmp_path, {})


def follow(page: Path, folder: Path, variables: dict[str, str]) -> None:
    """Run the commands of a page, compare what they print, and end what they leave running."""
    steps = read_steps(page.read_text(encoding="utf-8"))
    assert steps, f"{page} must have a console block"
    try:
        for step in steps:
            printed = run_step(step, folder, variables) + "\n"
            same = doctest.OutputChecker().check_output(step.expected + "\n", printed, FLAGS)
            assert same, f"$ {step.command}\nthe page shows:\n{step.expected}\nit printed:\n{printed}"
    finally:
        for left in folder.glob("*.pid"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(left.read_text(encoding="utf-8")), signal.SIGKILL)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_block_is_read_as_commands_and_what_they_print() -> None:
    block = "$ first \\\n    --more\nprinted\n\n$ second\n"
    assert block_steps(block) == [Step("first \\\n    --more", "printed\n"), Step("second", "")]


def test_a_document_within_a_command_belongs_to_it() -> None:
    block = "$ cat > file <<'END'\n$ no command\n\nEND\nprinted\n$ second\n"
    assert block_steps(block) == [Step("cat > file <<'END'\n$ no command\n\nEND", "printed"), Step("second", "")]


def test_a_page_is_renewed_but_for_what_stands_for_anything(tmp_path: Path) -> None:
    page = "```console\n$ echo 0.123456\nold\n\n$ seq 3\n1\n...\n3\n```\n"
    assert write_page(page, tmp_path) == page.replace("old", "0.123...")


def test_a_command_that_fails_is_named(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="false must end with 0, got 1"):
        run_step(Step("false", ""), tmp_path)


def test_every_public_package_has_a_reference_page() -> None:
    import stream_maxloss
    import stream_maxloss_connectors

    pages = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.glob("reference/*.md"))
    packages = [package.name for package in pkgutil.iter_modules(stream_maxloss.__path__, "stream_maxloss.")]
    public = [name for name in packages if getattr(importlib.import_module(name), "__all__", None)]
    documented = [name for name in [*public, stream_maxloss_connectors.__name__] if f"\n::: {name}\n" in pages]
    inner = {
        f"stream_maxloss.{name}"
        for name in (
            "arguments",
            "card",
            "classes",
            "cli",
            "described",
            "features",
            "labels",
            "random",
            "rows",
            "state",
            "system",
        )
    }
    assert sorted(set(public) - set(documented)) == sorted(inner)
