"""Try the built wheel alone: `python -m tools.try_wheel WHEEL` for each Python that is here and supported.

Each gets an environment of its own outside the tree, without development extras: everything imports, a model learns,
and `maxloss` runs its demonstration.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

__all__ = ["find_interpreters", "main", "try_wheel"]

VERSIONS = ("3.11", "3.12", "3.13")
"""What the classifiers in pyproject.toml declare; a test compares the two."""

SMOKE = Path(__file__).parents[1] / "tests" / "wheel_smoke.py"
SECONDS = 900


def find_interpreters() -> dict[str, str]:
    """Return the interpreters that are here, by version; a launcher that starts none is left out."""
    found = {f"{sys.version_info.major}.{sys.version_info.minor}": sys.executable}
    for version in VERSIONS:
        for path in candidates(version):
            if version not in found and version_of(path) == version:
                found[version] = path
    return {version: found[version] for version in VERSIONS if version in found}


def candidates(version: str) -> list[str]:
    """Return where an interpreter of a version may be: on the path, or among those of pyenv."""
    on_path = shutil.which(f"python{version}")
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return [*([on_path] if on_path else []), *map(str, pyenv)]


def version_of(path: str) -> str | None:
    """Return the version that an interpreter says it has, or None if it does not start."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([path, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def try_wheel(wheel: Path, interpreter: str, folder: Path) -> str:
    """Install a wheel into a new environment and use it; return what it said."""
    folder.mkdir()
    subprocess.run([interpreter, "-m", "venv", str(folder / "venv")], check=True, timeout=SECONDS)
    commands = folder / "venv" / "bin"
    run = [str(commands / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
    subprocess.run(run, check=True, timeout=SECONDS)
    shutil.copy(SMOKE, folder)
    said = [
        command(commands / "python", "wheel_smoke.py", folder=folder),
        command(commands / "maxloss", "--version", folder=folder),
    ]
    refused = subprocess.run(
        [str(commands / "maxloss"), "serve", "x"], cwd=folder, capture_output=True, text=True, timeout=SECONDS
    )
    if refused.returncode != 2 or "stream-maxloss[serve]" not in refused.stderr:
        raise SystemExit(f"maxloss serve must name its extra, got {refused.returncode}: {refused.stderr[-500:]}")
    command(commands / "maxloss", "demo", "--rows", "4000", "--directory", str(folder / "demo"), folder=folder)
    began = time.perf_counter()
    command(commands / "python", "-c", "import stream_maxloss", folder=folder)
    return "; ".join([*said, f"imported in {time.perf_counter() - began:.2f} s with Python's own start"])


def command(program: Path, *words: str, folder: Path) -> str:
    """Run a program of the environment and return the last line that it printed."""
    done = subprocess.run(
        [str(program), *words], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        raise SystemExit(
            f"{program.name} {' '.join(words)} must end with 0, got {done.returncode}: {done.stderr[-2000:]}"
        )
    return (done.stdout.strip().splitlines() or [""])[-1]


def main() -> None:
    """Try one wheel under every interpreter."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        raise SystemExit(f"python -m tools.try_wheel must be given one wheel, got {sys.argv[1:]}; make wheel builds it")
    wheel = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
        for version, interpreter in find_interpreters().items():
            said = try_wheel(wheel, interpreter, Path(folder) / version)
            sys.stdout.write(f"Python {version}: {said}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
