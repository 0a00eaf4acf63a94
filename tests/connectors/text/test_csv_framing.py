from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss_connectors.text.csv_framing import CsvFraming


def ends_by_character(text: bytes) -> tuple[list[int], bool]:
    """Go through the text as pyarrow's parser does, one character at a time."""
    ends, quoted, at_start, place = [], False, True, 0
    while place < len(text):
        character = text[place : place + 1]
        if quoted and text[place : place + 2] == b'""':
            place += 1
        elif quoted:
            quoted = character != b'"'
        elif character == b"\n":
            ends.append(place + 1)
            at_start = True
        else:
            quoted = character == b'"' and at_start
            at_start = character == b","
        place += 1
    return ends, quoted


@settings(deadline=None, max_examples=500)
@given(st.text(st.sampled_from(list('a",\n')), max_size=25).map(str.encode))
def test_records_end_where_a_reader_of_single_characters_finds_them(text: bytes) -> None:
    ends, quoted = CsvFraming(",", '"', 1000).ends(text, 0)
    assert (ends.tolist(), quoted) == ends_by_character(text)


def test_without_a_quote_character_every_line_is_a_record() -> None:
    assert CsvFraming(",", None, 1000).frame(b'1,"a\n2,b"\n', whole=True).ends.tolist() == [5, 10]
