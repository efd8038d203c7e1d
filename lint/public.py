"""Lists what users may rely on, by docs/stability.md: `python lint/public.py > lint/public.txt`.

A line is a name in `pcn`, a command with its arguments and options, an entry of summary.json, or a
file format."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "lint/public.txt"
sys.path.insert(0, str(ROOT))


def lines() -> Iterator[str]:
    """Yields the public names of this checkout, in order."""
    import pcn
    from pcn.cli import pcn as command
    from pcn.experiments.results import summary
    from pcn.topologies.formats.known import FORMATS

    yield from (f"python pcn.{name}" for name in pcn.__all__)
    yield from _options("pcn", command)
    yield from (f"summary.json {row.split('|')[1].strip()}" for row in summary.RUN.documented())
    yield from (f"topology format {name}" for name in FORMATS)


def _options(words: str, command: click.Command) -> Iterator[str]:
    line = f"command {words}:"
    for param in command.params:
        if (
            isinstance(param, click.Option) and param.hidden
        ):  # -v and --debug, which are listed once
            continue
        names = (
            sorted({*param.opts, *param.secondary_opts})
            if isinstance(param, click.Option)
            else [param.make_metavar(_context)]
        )
        line += "".join(f" {name}" for name in names)
    yield line
    if isinstance(command, click.Group):
        for name in command.list_commands(_context):
            inner = command.get_command(_context, name)
            assert inner is not None
            yield from _options(f"{words} {name}", inner)


def names(lines: Iterable[str]) -> set[str]:
    """Returns what lines have, each alone."""
    heads = [line.partition(": ") for line in lines]
    return {head.removesuffix(":") for head, _, _ in heads} | {
        f"{head} {name}" for head, _, rest in heads for name in rest.split()
    }


_context = click.Context(click.Command("pcn"))


if __name__ == "__main__":
    print("\n".join(lines()))
