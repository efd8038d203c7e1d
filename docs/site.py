"""Builds the documentation site from the project's pages, the help of commands and docstrings:
python docs/site.py OUT.

Pages lie there as in the checkout, so that their links hold; README.md is its first page. Pages
that `nav` of mkdocs.yml doesn't have, and links and headings that are missing, are errors.
"""

from __future__ import annotations

import argparse
import html
import inspect
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import yaml
from markdown.extensions.toc import slugify  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import pcn  # noqa: E402
from pcn import cli  # noqa: E402
from pcn.base.python_process import python_command  # noqa: E402

FILES = (
    "LICENSE",
    "CITATION.cff",
    "docs/papers.bib",
    "docs/assets/iframe-worker.js",
    "docs/assets/site.js",
    "docs/assets/site.css",
    "docs/assets/iframe-worker.LICENSE",
)
"""What pages use, beside pages and pictures."""


_FIRST = "---\nsearch:\n  boost: 4\n---\n\n"
"""Of a page that the search has before others: who types an option means the command's."""


def pages() -> Iterator[Path]:
    """Yields the project's pages and their pictures."""
    for name in (
        "*.md",
        "docs/**/*.md",
        "docs/**/*.png",
        "docs/*.svg",
        "softswitch/*.md",
        "judges/**/*.md",
    ):
        yield from ROOT.glob(name)
    yield from (ROOT / name for name in FILES)


def commands() -> dict[str, str]:
    """Returns a page for each command of `pcn`, with its help and that of its subcommands."""
    return {
        name: _FIRST + "\n".join(_help(f"pcn {name}", command, 1))
        for name in cli.pcn.list_commands(click.Context(cli.pcn))
        if (command := cli.pcn.get_command(click.Context(cli.pcn), name)) is not None
    }


def _help(words: str, command: click.Command, level: int) -> Iterator[str]:
    context = click.Context(command, info_name=words, terminal_width=80, max_content_width=80)
    yield from (f"{'#' * level} `{words}`", "", "```text", command.get_help(context), "```", "")
    yield from _options(command, level + 1)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _help(f"{words} {name}", inner, level + 1)


def _options(command: click.Command, level: int) -> Iterator[str]:
    """Yields a heading for each option, which the search finds by its name."""
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.help and not parameter.hidden:
            names = ", ".join([*parameter.opts, *parameter.secondary_opts])
            yield from (f"{'#' * level} `{names}`", "", html.escape(parameter.help), "")


def api() -> dict[str, str]:
    """Returns a page for each module that has names of `pcn`, with their docstrings; of other
    projects' names who has them."""
    by_module: dict[str, list[str]] = defaultdict(list)
    for name in pcn.__all__:
        symbol = getattr(pcn, name)
        module, qualname = (
            (symbol.__name__, "")
            if inspect.ismodule(symbol)
            else (symbol.__module__, f".{symbol.__qualname__}")
        )
        ours = module.startswith("pcn.")
        by_module[pcn.home(name)].append(
            f"::: {module}{qualname}" if ours else f"`pcn.{name}` is `{module}{qualname}`."
        )
    return {
        module: "\n\n".join([f"# {module}", *directives, ""])
        for module, directives in sorted(by_module.items())
    }


def stage(folder: Path) -> None:
    """Fills a folder with the site's pages and mkdocs.yml."""
    inside = folder / "pages"
    for path in pages():
        target = inside / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    results = inside / "docs/results.md"
    figures = split(results)
    for page in inside.rglob("*.md"):
        if page.parent != results.with_suffix(""):
            page.write_text(linked(page, results, figures), encoding="utf-8")
    generated = {"commands/": commands(), "api/": api()}
    for name, texts in generated.items():
        for title, text in texts.items():
            target = inside / name / f"{title}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    notebook = sorted(path.name for path in (ROOT / "docs/notebook").glob("*.md"))
    lists = {
        **{name: [f"{name}{page}.md" for page in texts] for name, texts in generated.items()},
        "docs/notebook/": [f"docs/notebook/{name}" for name in notebook],
        "docs/results/": [
            "docs/results.md",
            *dict.fromkeys(f"docs/results/{name}.md" for name in figures.values()),
        ],
    }
    config["nav"] = list(_filled(config["nav"], lists))
    config |= {"docs_dir": "pages", "site_dir": "site"}
    config["plugins"]["mkdocstrings"]["handlers"]["python"]["paths"] = [str(ROOT / "src")]
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def with_pictures(text: str, folder: Path) -> str:
    """Returns a page of a folder with those of its pictures that `make figures` has drawn: git
    hasn't them."""
    return re.sub(
        r"<!-- (figures/.+?\.png): (.*) -->",
        lambda match: f"![{match[2]}]({match[1]})" if (folder / match[1]).is_file() else "",
        text,
    )


def split(results: Path) -> dict[str, str]:
    """Gives each figure of the page of results its own page in a folder beside it, and leaves an
    index with thumbnails. Returns the names of the pages by their anchors."""
    head, *sections = re.split(r"^(?=## )", results.read_text(encoding="utf-8"), flags=re.M)
    folder = results.with_suffix("")
    folder.mkdir()
    names, thumbnails = {}, []
    for section in sections:
        heading = section.partition("\n")[0].removeprefix("## ")
        anchor = slugify(heading, "-")
        picture = re.search(r"figures/(.+?)\.png", section)
        names[anchor] = name = picture[1] if picture else anchor
        if picture and (results.parent / picture[0]).is_file():
            thumbnails.append(f"[![{heading}]({picture[0]}){{ width=240 }}](#{anchor})")
        section = with_pictures(section.removeprefix("#"), results.parent)
        text = re.sub(r"\]\((?!https?:|#)", "](../", section)
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    # Pictures stand before tables of many rows, behind the title and what the page is
    title, about, *rest = head.rstrip().split("\n\n")
    blocks = [title, about, *thumbnails, *rest]
    results.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    for page in folder.iterdir():
        page.write_text(linked(page, results, names), encoding="utf-8")
    return names


def linked(page: Path, results: Path, names: Mapping[str, str]) -> str:
    """Returns a page with its links to parts of the page of results led to the pages of these."""
    place = os.path.relpath(results, page.parent)
    # what was a part of the page of results has its own links, too
    inside = results in (page, page.parent.with_suffix(".md"))
    here = rf"(?:{re.escape(place)})?" if inside else re.escape(place)
    folder = place.removesuffix(".md")

    def target(match: re.Match[str]) -> str:
        name = names.get(match[1])
        return f"]({folder}/{name}.md)" if name else match[0]

    return re.sub(rf"\]\({here}#([^)]+)\)", target, page.read_text(encoding="utf-8"))


def _filled(nav: Iterable[Any], lists: dict[str, list[str]]) -> Iterator[Any]:
    """Yields the entries with the pages of generated folders in place of their names."""
    for entry in nav:
        if isinstance(entry, dict):
            for title, value in entry.items():
                inner = (
                    lists.get(value, value)
                    if isinstance(value, str)
                    else list(_filled(value, lists))
                )
                yield {title: inner}
        else:
            yield entry


def build(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Builds what `stage` made."""
    command = python_command("mkdocs", "build", *options, "-f", str(folder / "mkdocs.yml"))
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("out", type=Path, help="folder of the site, made anew")
    out: Path = parser.parse_args().out
    shutil.rmtree(out, ignore_errors=True)
    stage(out)
    done = build(out, "--strict")
    sys.stderr.write(done.stdout + done.stderr)
    if done.returncode == 0:
        print(f"{out}/site/index.html")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
