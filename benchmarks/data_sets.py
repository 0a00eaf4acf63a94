"""The data sets behind the streams: real ones where they are at hand, and those that River brings along."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import SEED, find_data
from benchmarks.streams import Stream

__all__ = ["ABSENT", "BUNDLED", "STORED", "find_set", "load"]

ABSENT = "the data set is absent; name the folder of data sets in STREAM_MAXLOSS_DATA"


@dataclass(frozen=True)
class DataSet:
    """Where a stream comes from.

    Parameters
    ----------
    words
        What it is, for the page.
    read
        Returns all its rows as a table, given its file if it has one.
    split
        Makes the stream of the rows chosen.
    file
        The name of its file in its folder, if not that of the set.
    choose
        Returns the places of the rows, given their number, the seed and how many are wanted.

    """

    words: str
    read: Callable[[Path], Any]
    split: Callable[[Any], Stream]
    file: str = ""
    choose: Callable[[int, int, int | None], NDArray[np.int64]] | None = None


def find_set(name: str) -> Path | None:
    """Return the file of a data set, or None where it is absent."""
    folder = find_data()
    path = None if folder is None else folder / name / (STORED[name].file or f"{name}.parquet")
    return path if path is not None and path.is_file() else None


def load(name: str, seed: int = SEED, rows: int | None = None) -> Stream:
    """Return the first rows of a data set, shuffled unless their order is what it is about.

    Raises
    ------
    FileNotFoundError
        If it is one of the stored sets and its file is not there.

    """
    path = find_set(name) if name in STORED else Path()
    if path is None:
        raise FileNotFoundError(f"{name}: {ABSENT}")
    source = STORED.get(name) or BUNDLED[name]
    table = source.read(path)
    places = (source.choose or shuffled)(table.num_rows, seed, rows)
    return source.split(table.take(places).combine_chunks())


def shuffled(count: int, seed: int, rows: int | None) -> NDArray[np.int64]:
    """Return the places of the first rows of a shuffle that depends on nothing but seed and count."""
    return np.random.default_rng(seed).permutation(count)[:rows]


def newest(count: int, seed: int, rows: int | None) -> NDArray[np.int64]:
    """Return the places of the last rows, in their order."""
    return np.arange(count)[-rows if rows else 0 :]


def parquet(path: Path) -> Any:
    """Return a table of a Parquet file."""
    import pyarrow.parquet as pq

    return pq.read_table(path)


def training(path: Path) -> Any:
    """Return the rows of a Parquet file that its column `split` calls training rows."""
    import pyarrow.compute as pc

    table = parquet(path)
    return table.filter(pc.equal(table["split"].cast("string"), "train"))


def bundled(name: str) -> Callable[[Path], Any]:
    """Return what reads a data set that River brings along; its label is the column `label`."""

    def read(path: Path) -> Any:
        import pyarrow as pa
        from river import datasets

        return pa.Table.from_pylist([{**x, "label": int(y)} for x, y in getattr(datasets, name)()])

    return read


def features(table: Any, without: tuple[str, ...]) -> Any:
    """Return columns as doubles and strings, the two types that all systems take as they are."""
    import pyarrow as pa

    table = table.select([name for name in table.column_names if name not in ("label", *without)])
    fields = []
    for field in table.schema:
        text = pa.types.is_dictionary(field.type) or pa.types.is_string(field.type)
        fields.append(pa.field(field.name, pa.string() if text else pa.float64()))
    return table.cast(pa.schema(fields))


def labels_of(table: Any) -> NDArray[np.bool_]:
    """Return the column `label` as booleans."""
    return np.asarray(table["label"]) > 0


def texts_of(table: Any, name: str) -> NDArray[np.str_]:
    """Return a column as text."""
    return np.asarray(table[name].cast("string").to_pylist())


def masks(names: NDArray[np.str_]) -> dict[str, NDArray[np.bool_]]:
    """Return by name which rows bear it."""
    return {str(name): names == name for name in np.unique(names)}


def by_column(column: str, rare: str, without: tuple[str, ...] = ()) -> Callable[[Any], Stream]:
    """Return what slices rows by a column that is no feature."""

    def split(table: Any) -> Stream:
        return Stream(features(table, (column, *without)), labels_of(table), masks(texts_of(table, column)), rare)

    return split


def by_label(positive: str, negative: str, without: tuple[str, ...] = ()) -> Callable[[Any], Stream]:
    """Return what slices rows by their label; the positive ones are the rare slice."""

    def split(table: Any) -> Stream:
        labels = labels_of(table)
        return Stream(features(table, without), labels, {positive: labels, negative: ~labels}, positive)

    return split


def adult(table: Any) -> Stream:
    """Return people, sliced by sex and income."""
    labels = labels_of(table)
    names = np.char.add(texts_of(table, "gender"), np.where(labels, ", above 50K", ", below 50K"))
    return Stream(features(table, ()), labels, masks(names), "Female, above 50K")


def elec2(table: Any) -> Stream:
    """Return half hours, sliced by whether the label is another one than that before."""
    labels = labels_of(table)
    turns = np.diff(labels, prepend=labels[:1])
    # The date tells the rows apart, and the label is computed from the price.
    return Stream(features(table, ("date", "nswprice")), labels, {"turn": turns, "same as before": ~turns}, "turn")


def messages(table: Any) -> Stream:
    """Return texts as counts of their words, sliced by label."""
    import pyarrow as pa
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(token_pattern=r"[a-z0-9]{2,}", dtype=np.float64)
    X = counter.fit_transform(table["text"].to_pylist())
    words = pa.array(counter.get_feature_names_out().tolist()).take(pa.array(X.indices))
    column = pa.MapArray.from_arrays(pa.array(X.indptr.astype(np.int32)), words, pa.array(X.data))
    labels = labels_of(table)
    return Stream(pa.table({"words": column}), labels, {"spam": labels, "ham": ~labels}, "spam")


# What says which attack a row is, and how many learners of another study got it right.
NSL_KDD_ANSWERS = ("attack", "difficulty", "split", "label_r2l", "label_u2r")
STORED = {
    "nsl_kdd": DataSet(
        "NSL-KDD, training rows: attacks on a network, 41 columns of which 3 are text; slices are the kinds of "
        "attack, and `r2l` (0.8 % of the rows) is the rare one",
        training,
        by_column("category", "r2l", NSL_KDD_ANSWERS),
    ),
    "protein_homology": DataSet(
        "KDD Cup 2004 protein homology: 74 numbers; the positives (0.9 %) are the rare slice",
        parquet,
        by_label("positives", "negatives", ("block_id", "example_id")),
    ),
    "adult": DataSet(
        "Census income of 1994: 14 columns of which 8 are text; slices are sex and income, and women above 50K "
        "(3.6 %) the rare one",
        parquet,
        adult,
    ),
    "covtype": DataSet(
        "Forest cover: spruce and fir against the rest, 54 numbers of which 44 are flags; slices are the seven kinds "
        "of cover, and `7` (krummholz, 3.5 %), which grows beside spruce, the rare one",
        parquet,
        by_column("class", "7"),
    ),
    "elec2": DataSet(
        "Electricity market: does the price rise? 6 numbers, the newest half hours in their order; the rare slice is "
        "where the answer is not that of half an hour before (15 %). Who repeats the last label finds none of them, "
        "and errs on no other row",
        parquet,
        elec2,
        choose=newest,
    ),
    "spambase": DataSet(
        "Spambase: 57 frequencies of words and letters in e-mails; the slice to find is spam (39 %)",
        parquet,
        by_label("spam", "ham"),
    ),
    "sms_spam": DataSet(
        "SMS spam: short texts as counts of their words, about 13 of 8,700 a row, taken as they are by all systems: "
        "nothing is scaled; spam (13 %) is the rare slice",
        parquet,
        messages,
        file="sms_spam_text.parquet",
    ),
}
BUNDLED = {
    "shuttle": DataSet(
        "Shuttle, as River bundles it: 9 numbers; the anomalous 7 % are the rare slice",
        bundled("Shuttle"),
        by_label("anomaly", "normal"),
    ),
    "phishing": DataSet(
        "Phishing, as River bundles it: 9 numbers; the slice to find is phishing (44 %)",
        bundled("Phishing"),
        by_label("phishing", "harmless"),
    ),
    "bananas": DataSet(
        "Bananas, as River bundles it: 2 numbers, which no plane parts; the slice to find is the positive 45 %",
        bundled("Bananas"),
        by_label("positive", "negative"),
    ),
}
