"""The site as it is built: links lead somewhere, no other host is asked, `llms.txt` and the reference are whole."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

PROJECT = Path(__file__).parents[2]
REFERENCE = PROJECT / "docs" / "reference"
PACKAGES = sorted(
    re.findall(
        r"^::: (\w+(?:\.\w+)?)$", "\n".join(page.read_text("utf-8") for page in REFERENCE.glob("*.md")), re.MULTILINE
    )
)


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if found.get("src"):
            self.loaded.append("" if found["src"].startswith("data:") else found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload", "preconnect"):
            self.loaded.append(found.get("href", ""))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": f"{PROJECT}:{PROJECT / 'connectors'}"}
    done = subprocess.run(words, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path.resolve(): Page(path) for path in site.rglob("*.html")}


def is_ours(address: str) -> bool:
    return not urlsplit(address).scheme and not address.startswith("//")


def test_every_link_leads_to_a_page_and_a_place_in_it(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for address in filter(is_ours, page.links + page.loaded):
            parts = urlsplit(address)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            known = pages[target].places if target in pages else {place}
            # The page for addresses that lead nowhere is served for any address, so its links start at the root.
            if path.name != "404.html" and (not target.exists() or (place and place not in known)):
                broken.append(f"{path.name}: {address}")
    assert broken == []
    assert sum(len(page.links) for page in pages.values()) > 1000


def test_no_page_loads_anything_from_another_host(pages: dict[Path, Page]) -> None:
    assert [address for page in pages.values() for address in page.loaded if not is_ours(address)] == []


def test_llms_txt_names_every_page_once_and_leads_to_it(site: Path, pages: dict[Path, Page]) -> None:
    text = (site / "llms.txt").read_text(encoding="utf-8")
    addresses = re.findall(r"^- \[.+?\]\((\S+?)\)", text, re.MULTILINE)
    assert [address for address in addresses if not (site / address).is_file()] == []
    named = sorted(str(Path(address).with_suffix("")) for address in addresses)
    built = {str(path.relative_to(site.resolve()).with_suffix("")) for path in pages} - {"404"}
    assert named == sorted(built)
    assert ".ipynb]" not in text


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_in_the_reference(package: str, pages: dict[Path, Page]) -> None:
    module = importlib.import_module(package)
    documented = set().union(*(page.places for path, page in pages.items() if path.parent.name == "reference"))
    # A name that its package also has as a module is documented where it is defined.
    places = {
        name: {f"{package}.{name}", f"{getattr(getattr(module, name), '__module__', package)}.{name}"}
        for name in module.__all__
        if not inspect.ismodule(getattr(module, name))
    }
    assert [name for name, found in places.items() if not found & documented] == []


def test_a_here_document_is_copied_with_its_command(site: Path) -> None:
    text = (site / "howto" / "onnx.html").read_text(encoding="utf-8")
    # The style sheet hides prompts and output (`gp`, `go`) while a block is copied.
    assert '<span class="document">END</span>' in text
    assert '<span class="go">END</span>' not in text
    assert "['tall']</span>" in text.partition("END</span>")[2]
