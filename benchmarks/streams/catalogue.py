"""Every stream of the comparison, by name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.streams.flights import late_flights, make_flights
from benchmarks.streams.generated import bundled, generated
from benchmarks.streams.stored import by_class, known, sparse_texts, table_of
from benchmarks.streams.stream import BINARY, CLASSES, NUMBER, Stream

__all__ = ["STREAMS", "Entry", "open_stream"]


@dataclass(frozen=True)
class Entry:
    """What is known of a stream before it is loaded.

    Parameters
    ----------
    words
        What it is, for the page.
    kind
        `BINARY`, `CLASSES` or `NUMBER`.
    make
        Returns the stream, given a seed and how many rows at most.
    one_order
        Whether its order matters and comes with the data: it is run once, whatever the seed.
    wide
        Whether its rows are sparse over thousands of columns: trees that look at every column are not run.
    size
        How many rows there are, where they are not made as they are asked for.

    """

    words: str
    kind: str
    make: Callable[[int, int], Stream]
    one_order: bool = False
    wide: bool = False
    size: int = sys.maxsize


STREAMS = {
    "nsl_kdd": Entry(
        "NSL-KDD, training rows: attacks; the kinds of attack are slices", BINARY, known("nsl_kdd"), size=125_973
    ),
    "protein_homology": Entry("KDD Cup 2004: 0.9 % positive", BINARY, known("protein_homology"), size=145_751),
    "covtype": Entry("forest cover, class 1 against the rest", BINARY, known("covtype"), size=581_012),
    "adult": Entry("census income; sex and income are slices", BINARY, known("adult"), size=48_842),
    "spambase": Entry("e-mails as 57 frequencies", BINARY, known("spambase"), size=4_601),
    "elec2": Entry(
        "electricity prices in order, without `date` and `nswprice`",
        BINARY,
        known("elec2"),
        one_order=True,
        size=45_312,
    ),
    "mushrooms": Entry("22 text columns; separable", BINARY, table_of("mushrooms", "poisonous", "edible"), size=8_124),
    "mnist_5": Entry(
        "images of digits, 5 against the rest", BINARY, table_of("mnist", "five", "another digit"), size=70_000
    ),
    "hiva": Entry("molecules, 1,617 flags, 3.5 % active", BINARY, table_of("hiva", "active", "inactive"), size=3_845),
    "rcv1_small": Entry("news, tf-idf of 47,000 words", BINARY, sparse_texts("rcv1_small"), wide=True, size=1_500),
    "newsgroups_pair": Entry(
        "baseball against hockey, counts of 73,000 words",
        BINARY,
        sparse_texts("newsgroups20", "pair"),
        wide=True,
        size=1_993,
    ),
    "sms_spam": Entry("short texts, counts of 8,700 words", BINARY, known("sms_spam"), wide=True, size=5_574),
    "youtube_spam": Entry(
        "comments, counts of 4,400 words", BINARY, sparse_texts("youtube_spam_weak"), wide=True, size=1_956
    ),
    "phishing": Entry("River's Phishing", BINARY, bundled("Phishing", BINARY), size=1_250),
    "bananas": Entry("River's Bananas: no plane parts them", BINARY, bundled("Bananas", BINARY), size=5_300),
    "shuttle": Entry("River's Shuttle: 7 % anomalous", BINARY, known("shuttle"), size=49_097),
    "sea": Entry("SEA, 10 % noise, three abrupt changes", BINARY, generated("sea")),
    "agrawal": Entry("Agrawal, one abrupt change", BINARY, generated("agrawal")),
    "hyperplane": Entry("a plane that turns slowly", BINARY, generated("hyperplane")),
    "flights_late": Entry("made-up flights: late by more than 15 minutes?", BINARY, late_flights),
    "covtype_7": Entry("forest cover, 7 classes", CLASSES, by_class("covtype"), size=581_012),
    "usps": Entry("images of digits, 16 x 16", CLASSES, by_class("usps"), size=9_298),
    "mnist": Entry("images of digits, 28 x 28", CLASSES, by_class("mnist"), size=70_000),
    "newsgroups20": Entry(
        "20 groups, counts of 73,000 words", CLASSES, sparse_texts("newsgroups20", "classes"), wide=True, size=18_846
    ),
    "image_segments": Entry("River's ImageSegments: 7 classes", CLASSES, bundled("ImageSegments", CLASSES), size=2_310),
    "led": Entry("LED digits, 10 % noise, 17 columns that mean nothing", CLASSES, generated("led")),
    "random_rbf": Entry("four classes around 50 moving centres", CLASSES, generated("random_rbf")),
    "chick_weights": Entry(
        "River's ChickWeights", NUMBER, bundled("ChickWeights", NUMBER, True), one_order=True, size=578
    ),
    "trump_approval": Entry(
        "River's TrumpApproval", NUMBER, bundled("TrumpApproval", NUMBER, True), one_order=True, size=1_001
    ),
    "water_flow": Entry(
        "River's WaterFlow: the hour alone", NUMBER, bundled("WaterFlow", NUMBER, True), one_order=True, size=1_268
    ),
    "friedman": Entry("Friedman's function", NUMBER, generated("friedman")),
    "friedman_drift": Entry("Friedman's function with two abrupt changes", NUMBER, generated("friedman_drift")),
    "flights": Entry("made-up flights: minutes late", NUMBER, make_flights),
}


def open_stream(name: str, seed: int, rows: int) -> Stream:
    """Return a stream of at most so many rows, shuffled or made by a seed where its order does not matter."""
    return STREAMS[name].make(seed, rows)
