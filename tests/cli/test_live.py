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
    """A terminal of 80 columns and 24 lines, held by tmux."""

    def __init__(self, folder) -> None:
        self.name = f"maxloss-{uuid.uuid4().hex[:8]}"
        self._tmux("new-session", "-d", "-x", "80", "-y", "24", "-c", str(folder), "env PS1='$ ' sh")

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
    path = ":".join(sys.path)
    terminal.type("echo before")
    command = shlex.join([sys.executable, "-m", "stream_maxloss.cli", *words])
    terminal.type(f"PYTHONPATH={shlex.quote(path)} {command}")
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
