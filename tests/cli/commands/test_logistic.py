"""`--model Logistic`, whose target may be classes."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    draw = random.Random(1)
    lines = ["a,b,number,kind,flag"]
    for _ in range(600):
        a, b = draw.gauss(0, 1), draw.gauss(0, 1)
        number = 1 if a > 0.5 else 2 if b > 0 else 3
        lines.append(f"{a:.3f},{b:.3f},{number},{'xyz'[number - 1]},{int(a > 0)}")
    path = tmp_path / "day.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def others(target: str) -> list[str]:
    return [word for name in ("number", "kind", "flag") if name != target for word in ("--exclude", name)]


@pytest.mark.parametrize("words", [[], ["--no-focus"]], ids=["focused", "bare"])
@pytest.mark.parametrize("target", ["number", "kind", "flag"])
def test_a_target_of_any_labels_is_learned(maxloss: Any, classes: Path, target: str, words: list[str]) -> None:
    done = maxloss("tail", classes, "-t", target, *others(target), "--model", "Logistic", *words, "-o", "jsonl")
    assert done.code == 0, done.err
    final = [found for found in map(json.loads, done.out.splitlines()) if "metric" in found][-1]
    assert final["metric"]["Accuracy"]["total"] > 0.8


def test_a_target_of_numbers_is_refused_with_a_remedy(maxloss: Any, classes: Path) -> None:
    done = maxloss("tail", classes, "-t", "a", *others(""), "--model", "Logistic")
    assert done.code == 2
    assert "target 'a' must be classes for this model, got numbers; use --model auto, or --task class" in done.err


def test_it_can_be_compared_with_auto_on_classes(maxloss: Any, classes: Path) -> None:
    words = ["--model", "Logistic", "--model", "Logistic,no-focus,lr=1"]
    done = maxloss("compare", classes, "-t", "kind", *others("kind"), *words, "-o", "jsonl")
    assert done.code == 0, done.err
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [one["model"] for one in found] == ["Logistic", "Logistic,no-focus,lr=1", "(constant)"]
    assert all("CrossEntropy" in one["metrics"] for one in found)
