"""Run the tests of the learners with the oldest direct dependencies that pyproject.toml allows.

`python -m tools.lowest_versions` makes an environment of its own, where uv takes every direct dependency at its lower
bound, installs the project there and runs the suites that are named below, or those that are given as arguments.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["main"]

PROJECT = Path(__file__).parents[1]
SUITES = (
    "tests/linear",
    "tests/mixture",
    "tests/checkpoint",
    "tests/run",
    "tests/test_two_speeds.py",
    "tests/test_top_level.py",
)
"""What touches each dependency: kernels, arrays, Arrow, checkpoints, whole runs."""

# The tests' own tools, at any version; scikit-learn and pandas are for River's checks.
TOOLS = ("pytest>=8.3", "pytest-xdist>=3.6", "nbmake>=1.5", "hypothesis>=6.130", "pandas", "scikit-learn")
SECONDS = 1800


def main() -> None:
    """Make the environment, say what is in it, and run the suites; the exit code is pytest's."""
    with tempfile.TemporaryDirectory(prefix="lowest-") as folder:
        python = Path(folder) / "bin" / "python"
        run(sys.executable, "-m", "venv", folder)
        run(str(python), "-m", "pip", "install", "--quiet", "uv")
        uv = [str(python), "-m", "uv", "pip", "install", "--quiet", "--python", str(python)]
        run(*uv, "--resolution", "lowest-direct", f"{PROJECT}[kafka,plot]")
        run(*uv, *TOOLS)
        # From here on the project comes from the folder, with its tests.
        run(str(python), "-m", "pip", "uninstall", "--quiet", "--yes", "stream-maxloss")
        run(str(python), "-m", "pip", "list", "--disable-pip-version-check")
        suites = sys.argv[1:] or list(SUITES)
        sys.exit(run(str(python), "-m", "pytest", "-q", "-n", "2", "-m", "not slow", *suites, must_pass=False))


def run(*command: str, must_pass: bool = True) -> int:
    """Run a command in the project's folder and return its exit code."""
    # Whoever calls this may point Python at another tree.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=PROJECT, env=kept, timeout=SECONDS, check=False)
    if must_pass and done.returncode:
        raise SystemExit(f"{' '.join(command)} must end with 0, got {done.returncode}")
    return done.returncode


if __name__ == "__main__":
    main()
