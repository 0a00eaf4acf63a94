"""Hooks of `mkdocs build`: equations without scripts, no request to another host, and `llms.txt`."""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path
from typing import Any

__all__ = ["on_files", "on_page_content", "on_page_markdown", "on_post_build", "on_post_page", "on_post_template"]

# The offline search wants a shim for workers, which the theme would fetch from elsewhere.
SHIM = re.compile(r"https://[^\"']*/iframe-worker/shim")
LOCAL_SHIM = "assets/iframe-worker.js"
# What the Markdown extension for equations leaves behind, in a line and as a block.
EQUATION = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)

_titles: dict[str, str] = {}


def on_files(files: Any, config: Any) -> Any:
    """Forget the pages of an earlier build."""
    _titles.clear()
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Remember the title of each page."""
    heading = re.search(r"^# (.+)$", markdown, re.MULTILINE)
    _titles[page.file.src_uri] = heading.group(1).replace("`", "") if heading else page.file.src_uri
    return markdown


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Turn equations into MathML, which browsers draw by themselves."""
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
    """Write `llms.txt`: the name, a sentence, and every page with its address."""
    lines = [f"# {config['site_name']}", "", f"> {config['site_description']}", "", "## Pages", ""]
    lines += [f"- [{title}]({path})" for path, title in sorted(_titles.items())]
    site = Path(config["site_dir"])
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for path in _titles:
        source, copy = Path(config["docs_dir"]) / path, site / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(source.read_bytes())
