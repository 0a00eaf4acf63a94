"""Draw docs/images/live-view.svg: `maxloss tail` in a real terminal, as tmux shows it.

Run from the project's folder, with tmux installed: `python examples/live_picture.py`.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

PROJECT = Path(__file__).resolve().parents[1]
PICTURE = PROJECT / "docs" / "images" / "live-view.svg"
WIDTH, HEIGHT = 80, 24
SECONDS = 180.0
ROWS = 30_000
FRAME = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>.{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px;
line-height: {line_height}px; font-variant-east-asian: full-width; }} {styles}</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>{lines}</defs>{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g></svg>
"""
"""What is around the letters: no font is fetched from anywhere."""


@contextmanager
def terminal(folder: Path) -> Iterator[list[str]]:
    """Hold a terminal open, and give the words that a command of tmux begins with."""
    words = ["tmux", "-L", f"picture-{time.monotonic_ns()}"]
    size = ["-x", str(WIDTH), "-y", str(HEIGHT)]
    subprocess.run([*words, "new-session", "-d", *size, "-c", str(folder), "env PS1='$ ' sh"], check=True)
    try:
        yield words
    finally:
        subprocess.run([*words, "kill-server"], check=False)


def look(tmux: list[str]) -> str:
    """Return the screen with its colours."""
    return subprocess.run([*tmux, "capture-pane", "-e", "-p"], check=True, capture_output=True, text=True).stdout


def photograph(folder: Path) -> str:
    """Tail the demonstration's stream and return the screen as it is after some rows."""
    paths = f"PYTHONPATH={shlex.quote(str(PROJECT))}:{shlex.quote(str(PROJECT / 'connectors'))}"
    maxloss = f"{paths} {shlex.quote(sys.executable)} -m stream_maxloss.cli"
    subprocess.run(f"{maxloss} demo --rows {ROWS} > demo.txt", shell=True, cwd=folder, check=True)
    words = "tail maxloss-demo/connections.csv --target attack --slice-by kind --follow --checkpoint run"
    with terminal(folder) as tmux:
        subprocess.run([*tmux, "send-keys", f"{maxloss} {words}", "Enter"], check=True)
        deadline = time.monotonic() + SECONDS
        while f"{ROWS:,} rows" not in (screen := look(tmux)) or "hardest" not in screen:
            if time.monotonic() > deadline:
                raise SystemExit("the live view did not come to the end of the stream")
            time.sleep(0.2)
        time.sleep(2.0)  # the hardest rows are looked up once a second
        return look(tmux)


def main() -> None:
    """Draw the picture."""
    with tempfile.TemporaryDirectory() as folder:
        screen = photograph(Path(folder))
    console = Console(record=True, width=WIDTH, height=HEIGHT, file=sys.stderr)
    console.print(Text.from_ansi(screen.rstrip("\n")))
    PICTURE.write_text(console.export_svg(title="maxloss tail", code_format=FRAME), encoding="utf-8")
    print(f"drew {PICTURE.relative_to(PROJECT)}")


if __name__ == "__main__":
    main()
