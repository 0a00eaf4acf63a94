from __future__ import annotations

import pytest

from stream_maxloss_connectors.payloads.avro_rows import AvroDecoder
from stream_maxloss_connectors.payloads.csv_rows import CsvDecoder
from stream_maxloss_connectors.payloads.formats import FORMATS, make_decoder
from stream_maxloss_connectors.schemas import decode_schema, encode_schema

OPTIONS = {"csv": {"column_names": ["a"]}, "avro": {"registry_schemas": {}}}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_decoder(name):
    assert make_decoder(name, **OPTIONS.get(name, {})).decode([], 1).messages == 0


def test_settings_of_the_registry_reach_the_decoder():
    decoder = make_decoder("avro", registry_settings={"schema.registry.url": "http://127.0.0.1:1/"})
    assert isinstance(decoder, AvroDecoder)
    assert decoder.registry.url == "http://127.0.0.1:1"


def test_unknown_format_is_refused():
    with pytest.raises(ValueError, match="format must be one of json, csv, avro, arrow, got 'protobuf'"):
        make_decoder("protobuf")


def test_schema_survives_as_text():
    decoder = CsvDecoder(["a", "b"])
    decoder.infer([b"1,x"])
    assert decode_schema(encode_schema(decoder.schema)) == decoder.schema
