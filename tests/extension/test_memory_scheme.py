from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors import open_source, source_class
from stream_maxloss_connectors.contract import check_source
from third_party import install, tail_twice

SOURCES = "stream_maxloss.sources"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds the package as pip would install it, on the path of this process."""
    folder = tmp_path / "site"
    module = Path(__file__).parent / "memory_scheme.py"
    install(folder, SOURCES, "memory = memory_scheme:SquaresSource", modules=(module,))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "memory_scheme", raising=False)
    return folder


def test_a_scheme_of_another_package_is_opened_by_its_address(installed: Path) -> None:
    source = open_source("memory://3", bound=0.001)
    source.open()
    batch = source.next_batch(10, 1.0)
    assert batch is not None
    assert batch.records["large"].to_pylist() == [False, True, True]
    check_source(lambda: open_source("memory://50"))


def test_a_scheme_of_another_package_runs_through_tail_and_resumes_where_it_stopped(installed: Path) -> None:
    tail_twice(installed, 200, "memory://200", "--target", "large", "--model", "Perceptron")


REFUSED = {
    "option": ("memory://3", {"colour": 1}, TypeError, "options for memory:// must be among bound, got 'colour'"),
    "columns": (
        "memory://3",
        {"columns": ["x"]},
        TypeError,
        "options for memory:// must be among bound, got 'columns'",
    ),
    "follow": ("memory://3", {"follow": True}, TypeError, "options for memory:// must be among bound, got 'follow'"),
    "scheme": ("redis://a", {}, SourceError, "redis://a: address must be a path, .*memory://, got redis://; install a"),
    "several": (["memory://3", "memory://4"], {}, ValueError, "a memory:// source must be the only one, got 2"),
    "mixed": (["memory://3", "day.csv"], {}, ValueError, "addresses must have one scheme, got file, memory"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_with_the_scheme_is_refused(installed: Path, case: str) -> None:
    uri, options, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        open_source(uri, **options)


BROKEN = {
    "absent module": ("nowhere_at_all:Source", "broken:// must load from nowhere_at_all:Source, got: No module named"),
    "absent name": ("json:Nothing", "broken:// must load from json:Nothing, got: "),
    "no source": ("json:JSONDecoder", "broken:// must be a subclass of Source, got <class 'json"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_package_that_cannot_serve_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    place, message = BROKEN[case]
    install(tmp_path, SOURCES, f"broken = {place}")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SourceError, match=message):
        source_class("broken://x")


def test_two_packages_that_add_one_scheme_are_refused(installed: Path) -> None:
    install(installed, SOURCES, "memory = other:Source", name="other-memory")
    with pytest.raises(SourceError, match=r"memory:// must be added by one package, got memory_scheme:.* and other"):
        source_class("memory://3")
