"""The live view in a real terminal."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import uuid

import pytest

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="no terminal to look at: tmux is not installed")


class Terminal:
    """A terminal, of 80 columns and 24 lines unless told otherwise, held by tmux."""

    def __init__(self, folder, width: int = 80, height: int = 24) -> None:
        self.name = f"maxloss-{uuid.uuid4().hex[:8]}"
        size = ["-x", str(width), "-y", str(height)]
        self._tmux("new-session", "-d", *size, "-c", str(folder), "env -u COLUMNS -u LINES PS1='$ ' sh")

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-L", self.name, *words], capture_output=True, timeout=20, check=True)
        return done.stdout.decode()

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-t", "0", text, "Enter")

    def press(self, key: str) -> None:
        self._tmux("send-keys", "-t", "0", key)

    def screen(self) -> list[str]:
        return self._tmux("capture-pane", "-p", "-t", "0").splitlines()

    def close(self) -> None:
        subprocess.run(["tmux", "-L", self.name, "kill-server"], capture_output=True, timeout=20, check=False)


@pytest.fixture
def terminal(tmp_path):
    found = Terminal(tmp_path)
    yield found
    found.close()


def test_the_live_view_fits_updates_and_leaves_the_screen_clean(terminal, day, rows_of, tmp_path, wait_until):
    words = ["tail", "day.csv", "--target", "fraud", "--slice-by", "kind", "--follow", "-c", "checkpoints"]
    words += ["--model", "HingeOGD"]
    path = ":".join(sys.path)
    terminal.type(f"export PYTHONPATH={shlex.quote(path)}; clear")
    terminal.type("echo before")
    terminal.type(shlex.join([sys.executable, "-m", "stream_maxloss.cli", *words]))
    wait_until(lambda: any("500 rows" in line for line in terminal.screen()))
    wait_until(lambda: any("hardest" in line for line in terminal.screen()))
    view = terminal.screen()
    text = "\n".join(view)
    assert len(view) <= 24
    assert all(len(line) <= 80 for line in view)
    for word in ("500 rows", "rows/s", "Accuracy", "constant", "worst slice", "hardest", "Ctrl-C"):
        assert word in text
    assert "before" not in text
    with day.open("a") as file:
        file.write("\n".join(rows_of(300, 8)[1:]) + "\n")
    wait_until(lambda: any("800 rows" in line for line in terminal.screen()))
    terminal.press("C-c")
    wait_until(lambda: any("800 rows in" in line for line in terminal.screen()))
    after = "\n".join(terminal.screen())
    assert "before" in after
    assert "hardest" not in after
    terminal.type("echo exit $?")
    wait_until(lambda: any("exit 130" in line for line in terminal.screen()))


def typed(*words: object) -> str:
    command = shlex.join([sys.executable, "-m", "stream_maxloss.cli", *map(str, words)])
    return f"PYTHONPATH={shlex.quote(':'.join(sys.path))} {command}"


def test_a_small_screen_shows_what_matters_and_no_end_of_what_has_none(tmp_path, day, wait_until):
    small = Terminal(tmp_path, 40, 10)
    try:
        small.type(
            typed("tail", "day.csv", "--target", "fraud", "--slice-by", "kind", "--follow", "--model", "HingeOGD")
        )
        wait_until(lambda: any("500 rows" in line for line in small.screen()))
        wait_until(lambda: any("worst slice" in line for line in small.screen()))
        view = small.screen()
        assert len(view) <= 10
        assert all(len(line) <= 40 for line in view)
        assert any(line.startswith("Accuracy") for line in view)
        assert "%" not in "\n".join(view[:3])
        assert any(line.startswith("Ctrl-C: finish the batch, leave") for line in view)
        small.press("C-c")
    finally:
        small.close()


def test_a_dumb_terminal_gets_lines(terminal, day, wait_until):
    terminal.type(f"TERM=dumb {typed('tail', 'day.csv', '--target', 'fraud', '--model', 'HingeOGD')}")
    wait_until(lambda: any("500 rows in" in line for line in terminal.screen()))
    assert any(line.split()[:2] == ["256", "0.8828"] or line.strip().startswith("256 ") for line in terminal.screen())


def test_a_large_screen_is_used(tmp_path, day, wait_until):
    large = Terminal(tmp_path, 150, 50)
    try:
        large.type(
            typed("tail", "day.csv", "--target", "fraud", "--slice-by", "kind", "--follow", "--model", "HingeOGD")
        )
        wait_until(lambda: sum(bool(line.strip()) for line in large.screen()) >= 40)
        view = large.screen()
        first = next(place for place, line in enumerate(view) if "hardest" in line) + 1
        assert "day.csv:" in view[first]
        large.press("C-c")
    finally:
        large.close()
