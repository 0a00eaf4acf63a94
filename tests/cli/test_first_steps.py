"""What a newcomer types after reading the first screens."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stream_maxloss.cli.app import app

PROJECT = Path(__file__).parents[2]
GROUP: Any = app


def readme_commands() -> list[str]:
    """Every call of `maxloss` in the console blocks of the README."""
    blocks = re.findall(r"```console\n(.*?)```", (PROJECT / "README.md").read_text(encoding="utf-8"), flags=re.S)
    return re.findall(r"^\$ (maxloss .*?)$", "\n".join(blocks).replace("\\\n", " "), flags=re.M)


@pytest.mark.parametrize("line", readme_commands())
def test_every_command_of_the_readme_is_understood(line: str) -> None:
    _, name, *words = shlex.split(line, comments=True)
    assert GROUP.commands[name].make_context(name, words).params is not None


def test_the_readme_has_commands() -> None:
    assert len(readme_commands()) >= 4


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_the_demonstration_ends_with_how_to_call_the_command() -> None:
    words = ["make", "--dry-run", "--always-make", "demo"]
    done = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, timeout=60, check=True)
    assert "source .venv/bin/activate puts it on the PATH of this shell" in done.stdout
    assert "installing into .venv, which takes a minute or two" in done.stdout
    assert "--quiet" not in done.stdout


def test_two_texts_as_labels_are_learned_and_a_learner_asks_which_is_positive(maxloss, tmp_path) -> None:
    lines = [f"{n % 7},{'dog' if n % 2 else 'cat'}" for n in range(200)]
    (tmp_path / "pets.csv").write_text("\n".join(["x,kind", *lines]) + "\n")
    done = maxloss("tail", "pets.csv", "--target", "kind", "--set", "compute=least")
    assert done.code == 0, done.err
    refused = maxloss("tail", "pets.csv", "--target", "kind", "--model", "HingeOGD")
    assert refused.code == 2
    assert "say which one counts as positive: --positive 'dog'" in refused.err
    assert maxloss("tail", "pets.csv", "--target", "kind", "--model", "HingeOGD", "--positive", "dog").code == 0
