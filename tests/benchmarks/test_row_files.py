"""The files of the benchmarks hold the same rows in every format, and are gone afterwards."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from benchmarks import row_files
from benchmarks.row_files import FEATURES, NAMES, WRITERS, row_file, shared_folder
from stream_maxloss_connectors.open import open_source


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_files, "BLOCK", 40)


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    rows, labels = [], []
    with open_source(str(path)) as source:
        source.open()
        while not source.exhausted:
            batch = source.next_batch(1000, 1.0)
            if batch is not None:
                table = batch.records.to_pydict()
                if "features" in table:  # svmlight, whose features are counted from 1
                    rows += [[dict(row)[j] for j in range(1, FEATURES + 1)] for row in table["features"]]
                    labels += table["target"]
                else:
                    rows += list(zip(*(table[name] for name in NAMES), strict=True))
                    labels += table["y"]
    return np.array(rows, float), np.array(labels, float)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("ending", [ending for ending in WRITERS if ending not in (".csv", ".vw")])
def test_every_format_holds_the_rows_of_the_csv(ending: str) -> None:
    with shared_folder():
        wanted, wanted_labels = read(row_file(".csv", 120))
        found, labels = read(row_file(ending, 120))
    assert wanted.shape == (120, FEATURES)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(labels, wanted_labels)


@pytest.mark.usefixtures("small_blocks")
def test_vowpal_wabbits_text_holds_the_same_rows() -> None:
    with shared_folder():
        wanted, labels = read(row_file(".csv", 40))
        lines = row_file(".vw", 40).read_text().splitlines()
    heads, bodies = zip(*(line.split(" |") for line in lines), strict=True)
    assert [head == "1" for head in heads] == [label == 1.0 for label in labels]
    assert set(heads) == {"1", "-1"}
    found = [[float(entry.partition(":")[2]) for entry in body.split()] for body in bodies]
    np.testing.assert_array_equal(found, wanted)


def test_the_folder_goes_whatever_happens() -> None:
    def fail_in_the_middle() -> None:
        with shared_folder() as folder:
            folders.append(folder)
            row_file(".csv", 10)
            raise RuntimeError("in the middle")

    folders: list[Path] = []
    with pytest.raises(RuntimeError, match="in the middle"):
        fail_in_the_middle()
    assert not folders[0].exists()


def test_a_file_is_made_once() -> None:
    with shared_folder():
        path = row_file(".csv", 10)
        path.write_text("mine")
        assert row_file(".csv", 10).read_text() == "mine"


@pytest.mark.usefixtures("small_blocks")
def test_two_that_want_a_file_at_once_get_the_same_whole_one() -> None:
    with shared_folder(), ThreadPoolExecutor(4) as pool:
        sizes = list(pool.map(lambda _: row_file(".csv", 400).stat().st_size, range(8)))
        assert len(set(sizes)) == 1
        assert len(read(row_file(".csv", 400))[1]) == 400
