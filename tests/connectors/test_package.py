from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import stream_maxloss_connectors
from stream_maxloss_connectors import FileSource, FollowedSource, KafkaSink, KafkaSource
from stream_maxloss_connectors.files.parquet import ParquetFormat
from stream_maxloss_connectors.text.decoders import TEXT_OPTIONS


def test_every_exported_name_is_there() -> None:
    for name in stream_maxloss_connectors.__all__:
        assert getattr(stream_maxloss_connectors, name) is not None
    assert set(stream_maxloss_connectors.__all__) <= set(dir(stream_maxloss_connectors))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        stream_maxloss_connectors.nothing  # noqa: B018


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = {"pyarrow", "numpy", "confluent_kafka"}
    program = f"import sys, stream_maxloss_connectors; print(*{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == ""


def named(function: object) -> set[str]:
    parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    return {p.name for p in parameters if p.kind is not p.VAR_KEYWORD} - {"self", "servers", "topic", "paths", "uri"}


def test_traits_name_the_options_that_a_source_takes() -> None:
    assert KafkaSource.traits.options == named(KafkaSource.__init__)
    assert KafkaSink.options == named(KafkaSink.__init__) | {"delivery"}
    assert FollowedSource.traits.options == named(FollowedSource.__init__) | TEXT_OPTIONS
    of_formats = TEXT_OPTIONS | named(ParquetFormat) | {"block_bytes"}
    assert FileSource.traits.options == named(FileSource.from_uri) | of_formats
