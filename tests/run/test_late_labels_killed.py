"""Labels that come later are learned once each, however often the run is killed."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

ROWS = 12_000


def write_files(folder: Path, rows: int) -> None:
    """Write rows, and labels for most of them in another order; some come twice, some belong to no row."""
    generator = random.Random(rows)
    folder.mkdir()
    lines, labels, time = [], [], 1_700_000_000
    for number in range(rows):
        time += generator.randrange(60)
        a, b = generator.gauss(0, 1), generator.gauss(0, 1)
        lines.append(f"k{number},{time},{a:.4f},{b:.4f},{'rare' if number % 9 == 0 else 'usual'}")
        chance, bought = generator.random(), str(a + b + generator.gauss(0, 0.3) > 0).lower()
        if chance < 0.9:
            labels.append((time + generator.randrange(12 * 3600), f"k{number}", bought))
        if chance < 0.05:
            labels.append((time + generator.randrange(12 * 3600), f"k{number}", bought))
        if chance > 0.98:
            labels.append((time, f"nobody{number}", bought))
    labels.sort()
    (folder / "rows.csv").write_text("\n".join(["id,when,a,b,kind", *lines]) + "\n")
    (folder / "labels.csv").write_text("\n".join(["when,id,bought", *(f"{t},{k},{y}" for t, k, y in labels)]) + "\n")


def command(files: Path, folder: Path, joining: list[str], *more: object) -> list[object]:
    words = ["tail", files / "rows.csv", "--labels", files / "labels.csv", "--target", "bought", "--key", "id"]
    words += ["--slice-by", "kind", "--features", "a,b", "--model", "HingeOGD", "--window", 200, "--replays", 3]
    places = ["--checkpoint", folder / "checkpoints", "--predictions", folder / "predictions.jsonl"]
    return [*words, *joining, *places, "--checkpoint-every", 300, *more]


@pytest.mark.slow
@pytest.mark.parametrize(
    "joining", [["--label-ttl", "3000"], ["--time", "when", "--label-ttl", "6h"]], ids=["by rows", "by time"]
)
def test_labels_are_learned_once_and_counted_as_without_kills(kill_loop, state_of, tmp_path, joining):
    from stream_maxloss.checkpoint import CheckpointStore

    files, warm, straight, killed = (tmp_path / name for name in ("files", "warm", "straight", "killed"))
    write_files(files, ROWS)
    write_files(warm, 300)
    straight.mkdir()
    killed.mkdir()
    warm_up = command(warm, warm, joining, "--fresh")
    kill_loop(warm_up, command(files, straight, joining), kills=0, seed=0)
    result = kill_loop(warm_up, command(files, killed, joining), kills=25, seed=4)
    # Kills before the first checkpoint prove little: most must hit a run that had gone on from one.
    assert result["killed"] == 25
    assert result["resumed"] >= 7
    ignored = ("value predictions", "outputs")
    assert state_of(killed / "checkpoints", ignored) == state_of(straight / "checkpoints", ignored)
    assert (killed / "predictions.jsonl").read_bytes() == (straight / "predictions.jsonl").read_bytes()
    predicted = [json.loads(line)["key"] for line in (killed / "predictions.jsonl").read_text().splitlines()]
    assert predicted == [f"k{number}" for number in range(ROWS)]

    content = CheckpointStore(killed / "checkpoints").load()
    counts = content.values["late"]["counts"]
    assert min(counts[name] for name in ("joined", "expired", "unknown", "doubled")) > 0
    assert counts["joined"] == content.counters["learned"]
    labels = (files / "labels.csv").read_text().splitlines()[1:]
    known = {label.split(",")[1] for label in labels}
    assert counts["joined"] <= len({key for key in known if not key.startswith("nobody")})
