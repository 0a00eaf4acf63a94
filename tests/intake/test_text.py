from __future__ import annotations

import re
import string

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.intake.text import LONGEST_TEXT, Vocabulary, is_prose, words_of

TEXTS = st.lists(st.none() | st.text(string.ascii_letters + string.digits + " .,-!äÖß\n_", max_size=30), max_size=8)


def plain_words(text):
    """Plain Python: lower case, digits as 0, runs of letters and digits."""
    return None if text is None else re.findall(r"[^\W_]+", re.sub(r"\d", "0", text.lower()))


@settings(deadline=None)
@given(TEXTS)
def test_words_are_runs_of_letters_and_digits(texts):
    found = words_of(pa.array(texts, pa.string())).to_pylist()
    assert found == [plain_words(text) for text in texts]


def test_a_slice_of_an_array_gives_the_words_of_its_rows():
    array = pa.array(["zero", "one two", None, "three"]).slice(1, 3)
    assert words_of(array).to_pylist() == [["one", "two"], None, ["three"]]


def test_other_alphabets_and_signs_are_read_beside_plain_text():
    texts = ["Grüße, ÄÖÜ—ok", "plain TEXT 12", "£5 – δοκιμή №7", ""]
    expected = [["grüße", "äöü", "ok"], ["plain", "text", "00"], ["0", "δοκιμή", "0"], []]
    assert words_of(pa.array(texts)).to_pylist() == expected
    assert [words_of(pa.array([text]))[0].as_py() for text in texts] == expected


def test_a_text_counts_with_its_first_words():
    assert len(words_of(pa.array(["a " * 5000]))[0]) == LONGEST_TEXT


def test_a_full_vocabulary_hashes_new_words_and_keeps_old_ones():
    vocabulary = Vocabulary(most=2)
    assert vocabulary.bound(pa.array([["a"], ["b", "c"]]), learn=True)[1].as_py()[0] == "b"
    again = vocabulary.bound(pa.array([["a", "b", "c", "d"], None]), learn=True).to_pylist()
    assert again[0][:2] == ["a", "b"]
    assert all(word.startswith("#") for word in again[0][2:])
    assert again[1] is None
    assert vocabulary.state_dict() == ["a", "b"]


def test_asking_takes_in_no_words():
    vocabulary = Vocabulary()
    vocabulary.bound(pa.array([["a"]]), learn=False)
    assert vocabulary.state_dict() == []


def test_names_codes_and_few_texts_are_no_prose():
    messages = [f"this is the message number {n}" for n in range(100)]
    assert is_prose(pa.array(messages))
    assert not is_prose(pa.array(messages[:10]))
    assert not is_prose(pa.array([f"John Smith {n}" for n in range(100)]))
    assert not is_prose(pa.array([f"https://example.org/{n}/a-long-path-of-a-page" for n in range(100)]))
    assert not is_prose(pa.array(["the same long message again"] * 100))
