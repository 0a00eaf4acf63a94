"""A package of somebody else's, as pip installs it, and `maxloss tail` in a process that finds it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def install(folder: Path, group: str, *entries: str, name: str = "third-party", modules: tuple[Path, ...] = ()) -> None:
    """Write what pip leaves behind of a package that has some modules and entry points."""
    about = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("\n".join([f"[{group}]", *entries, ""]))
    for module in modules:
        shutil.copy(module, folder)


def tail(folder: Path, *words: str) -> dict[str, object]:
    """Run `maxloss tail` in a process of its own, with a folder on its path; return its last report."""
    path = os.pathsep.join(map(str, (folder, PROJECT, PROJECT / "connectors")))
    done = subprocess.run(
        [sys.executable, "-m", "stream_maxloss.cli", "tail", *words, "--output", "jsonl"],
        env={**os.environ, "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def tail_twice(folder: Path, rows: int, *words: str) -> None:
    """Run `maxloss tail` straight and in two halves: both must end with the same scores and the same bits."""
    straight = tail(folder, *words, "--checkpoint", "straight")
    first = tail(folder, *words, "--checkpoint", "halves", "--limit", str(rows // 2))
    second = tail(folder, *words, "--checkpoint", "halves")
    assert (straight["rows"], first["rows"], second["rows"]) == (rows, rows // 2, rows)
    assert second["metric"] == straight["metric"]
    assert last_arrays(folder / "halves") == last_arrays(folder / "straight")


def last_arrays(store: Path) -> bytes:
    """Return the arrays of the last checkpoint of a run."""
    return max(store.glob("ckpt-*/arrays.safetensors")).read_bytes()
