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
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import pcn  # noqa: E402
from pcn import cli  # noqa: E402
from pcn.base.python_process import python_command  # noqa: E402
from pcn.experiments.page.figures_page import write_pages  # noqa: E402

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
        "docs/figures/*.tar.xz",
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
    figures = write_pages(inside / "docs")
    for page in inside.rglob("*.md"):
        page.write_text(linked(page.read_text(encoding="utf-8")), encoding="utf-8")
    results = inside / "docs/results.md"
    results.write_text(with_pictures(results), encoding="utf-8")
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
        "docs/results/": ["docs/results.md", *(f"docs/results/{name}.md" for name in figures)],
    }
    config["nav"] = list(_filled(config["nav"], lists))
    config |= {"docs_dir": "pages", "site_dir": "site"}
    config["plugins"]["mkdocstrings"]["handlers"]["python"]["paths"] = [str(ROOT / "src")]
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def linked(text: str) -> str:
    """Returns a page whose links to figures' headings on the page of results lead to the pages of
    these."""
    return re.sub(r"(\]\([./\w]*\bresults)\.md#([\w-]+)\)", r"\1/\2.md)", text)


def with_pictures(results: Path) -> str:
    """Returns the page of results whose headings are a list of the figures' pages, with thumbnails
    of those pictures that `make figures` has drawn."""

    def entry(match: re.Match[str]) -> str:
        page, place = f"(results/{match[1]}.md)", f"figures/{match[1]}.png"
        drawn = (results.parent / place).is_file()
        thumbnail = f"[![{match[1]}]({place}){{ width=240 }}]{page} "
        return f"- {thumbnail * drawn}[{match[1]}]{page}: "

    return re.sub(r"^### (\S+)\n\n", entry, results.read_text(encoding="utf-8"), flags=re.M)


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
