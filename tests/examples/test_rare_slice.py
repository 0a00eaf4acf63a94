"""The example runs, writes its picture, and focus helps the rare slice."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "rare_slice.py"


def test_the_example_draws_and_focus_misses_fewer_rare_rows(tmp_path):
    picture = tmp_path / "curves.png"
    command = [sys.executable, str(EXAMPLE), "--rows", "20000", "--output", str(picture)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=EXAMPLE.parents[1])
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    missed = {
        name.strip(): float(rare)
        for name, rare in re.findall(r"^(bare|uniform replay|focused) +[\d.]+% +([\d.]+)%", done.stdout, flags=re.M)
    }
    assert missed["focused"] < 0.8 * missed["uniform replay"]
    assert missed["focused"] < 0.8 * missed["bare"]
