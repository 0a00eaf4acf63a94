"""Hooks of `mkdocs build`: equations without scripts, no request to another host, and `llms.txt`."""

from __future__ import annotations

import html
import json
import posixpath
import re
from pathlib import Path
from typing import Any

__all__ = [
    "on_files",
    "on_nav",
    "on_page_content",
    "on_page_markdown",
    "on_post_build",
    "on_post_page",
    "on_post_template",
]

# The offline search wants a shim for workers, which the theme would fetch from elsewhere.
SHIM = re.compile(r"https://[^\"']*/iframe-worker/shim")
LOCAL_SHIM = "assets/iframe-worker.js"
# What the Markdown extension for equations leaves behind, in a line and as a block.
EQUATION = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)

# A here-document in a console block, which the highlighter takes for what the command before it prints.
DOCUMENT = re.compile(r"""&lt;&lt;<span class="s1">(?:'|&#39;)END.*?<span class="go">END</span>""", re.DOTALL)

# What `llms.txt` says of each page, by its source: a title, an address, and a sentence.
_pages: dict[str, tuple[str, str, str]] = {}
_sections: list[tuple[str, list[str]]] = []


def on_files(files: Any, config: Any) -> Any:
    """Forget the pages of an earlier build."""
    _pages.clear()
    return files


def on_nav(nav: Any, config: Any, files: Any) -> Any:
    """Remember which pages belong to which tab."""
    _sections[:] = [(item.title, pages_below(item)) for item in nav.items]
    return nav


def pages_below(item: Any) -> list[str]:
    """Return the sources of the pages below a part of the navigation, in their order."""
    if item.is_page:
        return [item.file.src_uri]
    return [source for child in item.children or () for source in pages_below(child)]


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Remember the title of each page, where it can be read, and its first sentence."""
    source = page.file.src_uri
    text = notebook_text(Path(page.file.abs_src_path)) if source.endswith(".ipynb") else markdown
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    title = heading.group(1).replace("`", "") if heading else source
    # A notebook, and a page made from docstrings, can only be read as it is built.
    is_built = source.endswith(".ipynb") or "\n::: " in markdown
    _pages[source] = title, page.file.dest_uri if is_built else source, first_sentence(text)
    return markdown


def notebook_text(path: Path) -> str:
    """Return the prose of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def first_sentence(text: str) -> str:
    """Return the first sentence of a page in plain words, or nothing.

    >>> first_sentence("# Title\\n\\n    maxloss tail\\n\\nReads [a file](file.md) and `learns` it. Then more.")
    'Reads a file and learns it.'

    """
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for paragraph in re.split(r"\n\s*\n", prose):
        if re.match(r"[A-Za-z`*\[]", paragraph):
            words = " ".join(re.sub(r"\]\([^)]*\)|[\[`*$]", "", paragraph).split())
            return re.split(r"(?<=[.:?])\s", words)[0].rstrip(":")
    return ""


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Turn equations into MathML, which browsers draw by themselves, and here-documents into part of their command."""
    html = DOCUMENT.sub(lambda found: found[0].replace('class="go"', 'class="document"'), html)
    return EQUATION.sub(as_mathml, html)


def as_mathml(equation: re.Match[str]) -> str:
    """Return one equation as MathML."""
    from latex2mathml.converter import convert

    element, latex = equation.groups()
    drawn = convert(html.unescape(latex), display="block" if element == "div" else "inline")
    return f'<{element} class="equation">{drawn}</{element}>' if element == "div" else f"<{element}>{drawn}</{element}>"


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Point to the shim of this site."""
    return SHIM.sub(posixpath.relpath(LOCAL_SHIM, posixpath.dirname(page.file.dest_uri) or "."), output)


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """Do the same for pages that come from no Markdown, such as the one for addresses that lead nowhere."""
    return SHIM.sub(LOCAL_SHIM, output_content)


def on_post_build(config: Any) -> None:
    """Write `llms.txt`, every page under its tab with its address and first sentence, and the pages it leads to."""
    lines = [f"# {config['site_name']}", "", f"> {config['site_description']}"]
    for section, sources in _sections:
        lines += ["", f"## {section}", ""]
        for title, address, sentence in (_pages[source] for source in sources):
            lines.append(f"- [{title}]({address})" + (f": {sentence}" if sentence else ""))
    site = Path(config["site_dir"])
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for source, (_, address, _) in _pages.items():
        if address == source:
            copy = site / address
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((Path(config["docs_dir"]) / source).read_bytes())
