"""Writes the manual page of `pcn` from its help: `python release/man.py pcn.1 VERSION
[YYYY-MM-DD]`.

`release/dist.py` puts it into the wheels, and pip into share/man of the environment.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

_CODES = (
    ("0", "The command succeeded."),
    ("1", "It failed; a line on standard error has the reason."),
    ("2", "The command line is wrong."),
    ("3", "With pcn run --check: a check isn't met."),
    ("128 + N", "Signal N ended the command."),
)
_VARIABLES = (
    ("PCN_DEBUG", "With 1: as --debug."),
    ("XDG_CACHE_HOME", "The cache is pcn-lab in this folder (default: ~/.cache)."),
    ("CC", "The C compiler (default: cc)."),
)


def page(version: str, date: str = "") -> str:
    """Returns the page as roff's man macros."""
    from pcn.cli import pcn

    context = click.Context(pcn, info_name="pcn", **pcn.context_settings)
    lines = [
        f'.TH PCN 1 "{date}" "PCN Lab {version}"',
        ".SH NAME",
        f"pcn \\- {_text(pcn.get_short_help_str(200))}",
    ]
    lines += [".SH SYNOPSIS", *_synopsis(context), ".SH DESCRIPTION", *_description(pcn)]
    lines += [".SH OPTIONS", *_options(context), ".SH COMMANDS"]
    for inner in _contexts(context):
        lines += [
            f'.SS "{_text(inner.command_path)}"',
            *_synopsis(inner),
            ".PP",
            *_description(inner.command),
        ]
        lines += [*_options(inner), *_listing(inner)]
    for title, rows in ((".SH EXIT STATUS", _CODES), (".SH ENVIRONMENT", _VARIABLES)):
        lines += [title, *(line for row in rows for line in _definition(*row))]
    return "\n".join([*lines, ""])


def _contexts(context: click.Context) -> Iterator[click.Context]:
    """Yields the contexts of all commands below one, groups before what is in them."""
    assert isinstance(context.command, click.Group)
    for name in context.command.list_commands(context):
        command = context.command.get_command(context, name)
        assert command is not None
        inner = click.Context(command, parent=context, info_name=name)
        yield inner
        if isinstance(command, click.Group):
            yield from _contexts(inner)


def _synopsis(context: click.Context) -> list[str]:
    usage = " ".join(context.command.collect_usage_pieces(context))
    return [f".B {_text(context.command_path)}", _text(usage)]


def _description(command: click.Command) -> Iterator[str]:
    """Yields a command's help; paragraphs that click leaves as they are stay so, as examples do."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", inspect.cleandoc(command.help or ""))):
        if number:
            yield ".PP"
        if paragraph.startswith("\b"):
            yield from (".nf", *(_text(line) for line in paragraph.splitlines()[1:]), ".fi")
        else:
            yield _text(" ".join(paragraph.split()))


def _options(context: click.Context) -> Iterator[str]:
    for param in context.command.get_params(context):
        if (record := param.get_help_record(context)) is not None:
            yield from _definition(*record)


def _definition(term: str, text: str) -> tuple[str, ...]:
    return ".TP", f".B {_text(term)}", _text(" ".join(text.split()))


def _listing(context: click.Context) -> Iterator[str]:
    """Yields the list with which the help of some commands ends."""
    formatter = click.HelpFormatter(width=76, max_width=76)
    context.command.format_epilog(context, formatter)
    if text := formatter.getvalue().strip():
        yield from (".PP", ".nf", *(_text(line) for line in text.splitlines()), ".fi")


def _text(text: str) -> str:
    """Returns a line of text as roff has it: no escape, no request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(*sys.argv[2:]), encoding="utf-8")
