"""Sections of docs/ that reports point to and quote: where a run may be off for a reason that is
known, and why."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

DOCS = Path(__file__).resolve().parents[2] / "docs"


@dataclass(frozen=True)
class Section:
    """Of a page of docs/: its heading and the Markdown below it. If it is missing: its anchor, and
    nothing."""

    link: str
    """PAGE#ANCHOR, as pages of docs/ name it to each other."""
    heading: str
    text: str

    @property
    def page(self) -> str:
        return f"docs/{self.link.partition('#')[0]}"

    @property
    def anchor(self) -> str:
        return self.link.partition("#")[2]


def section(link: str) -> Section:
    """Returns the section that a link names. Where it isn't, as in an installation without docs/,
    there is its name alone."""
    name, _, wanted = link.partition("#")
    page = DOCS / name
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    parts = re.split(r"^(#+) (.+)$", text, flags=re.MULTILINE)
    for level, heading, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        if anchor(heading) == wanted and len(level) > 1:
            return Section(link, heading, text.strip())
    return Section(link, wanted, "")


def anchor(heading: str) -> str:
    """Returns the anchor that GitHub gives a heading."""
    letters = (letter for letter in heading.lower() if letter.isalnum() or letter in " -_")
    return "".join(letters).replace(" ", "-")


@lru_cache(maxsize=64)
def html(text: str) -> str:
    """Returns Markdown as HTML, for a page that opens offline anywhere: links within the page stay,
    of links to other pages of docs/ their names, of pictures nothing."""
    from markdown_it import MarkdownIt  # slow to load; for reports alone

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    for token in tokens:
        _without_links(token)
    rendered: str = markdown.renderer.render(tokens, markdown.options, {})
    return rendered


def plain(text: str) -> str:
    """Returns a line of Markdown as HTML, without a paragraph around it."""
    return re.sub(r"\A<p>(.*)</p>\s*\Z", r"\1", html(text), flags=re.DOTALL)


def _without_links(token: Token) -> None:
    """A link to docs/X becomes `docs/X`."""
    left: list[Token] = []
    dropped = False
    for inner in token.children or ():
        if inner.type == "link_open":
            target = str(inner.attrs.get("href", ""))
            dropped = not target.startswith("#")
            if dropped:
                continue
        elif inner.type == "link_close" and dropped:
            dropped = False
            continue
        elif inner.type == "text" and dropped and re.fullmatch(r"[\w-]+\.md", inner.content):
            inner.content = f"docs/{inner.content}"
        if inner.type != "image":
            left.append(inner)
    if token.children is not None:
        token.children = left
