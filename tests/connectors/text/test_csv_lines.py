"""What the parser is told of a block never changes what it reads."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest

from stream_maxloss_connectors.text.csv_lines import CsvDecoder

SCHEMA = pa.schema([("a", pa.float64()), ("b", pa.float64()), ("c", pa.string())])
NULLS = arrow_csv.ConvertOptions().null_values


def read_plainly(piece: bytes) -> pa.Table:
    return arrow_csv.read_csv(
        pa.BufferReader(piece),
        arrow_csv.ReadOptions(column_names=SCHEMA.names, use_threads=False),
        arrow_csv.ParseOptions(),
        arrow_csv.ConvertOptions(column_types=SCHEMA, include_columns=SCHEMA.names),
    )


@pytest.mark.parametrize(
    "quoted", ["x", '"x"', '"x, y"', 'x "y"', ""], ids=["plain", "quoted", "comma", "within", "none"]
)
@pytest.mark.parametrize("missing", NULLS)
def test_a_block_is_read_as_pyarrow_reads_it_whatever_it_holds(missing: str, quoted: str) -> None:
    piece = f"1.5,{missing},{quoted}\n{missing},-2e3,x\n".encode()
    table = read_plainly(piece)
    assert CsvDecoder(header=SCHEMA.names).parse(piece, SCHEMA).to_pydict() == table.to_pydict()
    assert table["a"].null_count == 1
