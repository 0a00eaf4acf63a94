"""The labelled streams that all systems are scored on: real data sets where they are at hand, else River's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import SEED, find_data

__all__ = ["BUNDLED", "STORED", "Stream", "load"]


@dataclass
class Stream:
    """Rows in the order in which every system meets them.

    Parameters
    ----------
    table
        An Arrow table of the features.
    labels
        One boolean per row.
    slices
        The name of each row's slice.
    rare
        The rare slice, all of whose rows are positive.

    """

    table: Any
    labels: NDArray[np.bool_]
    slices: NDArray[Any]
    rare: str

    def dicts(self) -> list[dict[str, Any]]:
        """Return the rows as River takes them."""
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows


# What each stream is, in words for the page.
STORED = {
    "nsl_kdd": "NSL-KDD, training rows: attacks on a network, 41 columns of which 3 are text; slices are the kinds of "
    "attack, and `r2l` (0.8 % of the rows) is the rare one",
    "protein_homology": "KDD Cup 2004 protein homology: 74 numbers; the homologous 0.9 % are the rare slice",
}
BUNDLED = {
    "shuttle": "Shuttle, as River bundles it: 9 numbers; the anomalous 7 % are the rare slice",
}


def load(name: str, rows: int) -> Stream:
    """Return the first rows of a shuffled data set."""
    if name == "shuttle":
        return shuttle(rows)
    folder = find_data()
    path = folder / name / f"{name}.parquet" if folder else Path(name)
    if not path.is_file():
        raise ImportError(f"the data set {name} is not at hand")
    return {"nsl_kdd": nsl_kdd, "protein_homology": protein_homology}[name](path, rows)


def shuffled(count: int, rows: int) -> NDArray[np.int64]:
    """Return the places of the first rows of a shuffle that depends on nothing but the count."""
    return np.random.default_rng(SEED).permutation(count)[:rows]


def nsl_kdd(path: Path, rows: int) -> Stream:
    """Return connections, sliced by category."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    table = table.filter(pc.equal(table["split"].cast("string"), "train"))
    table = table.take(shuffled(len(table), rows)).combine_chunks()
    kept = [name for name in table.column_names if name not in HIDDEN]
    labels = np.asarray(table["label"]) == 1
    return Stream(plain(table.select(kept)), labels, np.asarray(table["category"].cast("string")), "r2l")


# What is known only once a connection has been judged.
HIDDEN = {"attack", "difficulty", "split", "category", "label", "label_r2l", "label_u2r"}


def protein_homology(path: Path, rows: int) -> Stream:
    """Return proteins, sliced by label."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    table = table.take(shuffled(len(table), rows)).combine_chunks()
    labels = np.asarray(table["label"]) == 1
    features = plain(table.drop_columns(["block_id", "example_id", "label"]))
    return Stream(features, labels, np.where(labels, "homologous", "other"), "homologous")


def shuttle(rows: int) -> Stream:
    """Return sensor readings, sliced by label."""
    import pyarrow as pa
    from river import datasets

    stream = list(datasets.Shuttle())
    chosen = [stream[place] for place in shuffled(len(stream), rows)]
    labels = np.array([y == 1 for _, y in chosen])
    table = plain(pa.Table.from_pylist([x for x, _ in chosen]))
    return Stream(table, labels, np.where(labels, "anomaly", "normal"), "anomaly")


def plain(table: Any) -> Any:
    """Return a table of doubles and strings, the two types that all systems take as they are."""
    import pyarrow as pa

    fields = []
    for field in table.schema:
        text = pa.types.is_dictionary(field.type) or pa.types.is_string(field.type)
        fields.append(pa.field(field.name, pa.string() if text else pa.float64()))
    return table.cast(pa.schema(fields))
