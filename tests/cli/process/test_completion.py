"""Completion in the shells that click knows."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_the_command_for_completions(maxloss, shell):
    done = maxloss("--show-completion", SHELL=f"/bin/{shell}")
    assert done.code == 0, done.err
    assert f"_MAXLOSS_COMPLETE={shell}_complete" in done.out


WORDS = {"ta": ["tail"], "tail --check": ["--checkpoint", "--checkpoint-every"], "compare --slice": ["--slice-by"]}


@pytest.mark.parametrize("text", WORDS)
def test_commands_and_options_are_completed(maxloss, text):
    words = f"maxloss {text}"
    asked = {"_MAXLOSS_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = maxloss(**asked)
    assert [line.partition(",")[2] for line in done.out.splitlines()] == WORDS[text]


@pytest.mark.parametrize(("shell", "start"), [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", None)])
def test_installing_twice_changes_the_start_of_the_shell_once(maxloss, tmp_path, shell, start):
    home = tmp_path / "home"
    home.mkdir()
    if start is not None:
        (home / start).write_text("alias ll='ls -l'\n")
    for _ in range(2):
        done = maxloss("--install-completion", SHELL=f"/bin/{shell}", HOME=str(home))
        assert done.code == 0, done.err
    scripts = [path for path in home.rglob("*") if path.is_file() and "maxloss" in path.name]
    assert len(scripts) == 1
    assert "_MAXLOSS_COMPLETE" in scripts[0].read_text()
    if start is not None:
        assert len((home / start).read_text().splitlines()) == 2


def test_a_shell_without_completion_is_a_usage_error(maxloss):
    done = maxloss("--show-completion", SHELL="/bin/ksh")
    assert done.code == 2
    assert done.err == "maxloss: SHELL must be one of bash, zsh, fish for completion, got 'ksh'; set it to yours\n"
