"""What a command prints, and where: results on stdout, progress and notes on stderr; `--json` and
`--quiet`, which each command that prints has from here. Texts may hold names of a file or a switch:
control characters are written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from pcn.escape import visible

_F = TypeVar("_F", bound=Callable[..., Any])

_QUIET = "pcn.quiet"
"""In a context's `meta`, which inner contexts share."""


def _keep(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    context.meta[_QUIET] = value


def output_options(function: _F) -> _F:
    """Gives a command --json, which it gets as `as_json`, and --quiet, which `say` and the others
    here heed."""
    return described_output()(function)


def described_output(json_help: str = "JSON instead of tables.") -> Callable[[_F], _F]:
    """Returns `output_options` with a help text of --json."""

    def options(function: _F) -> _F:
        json_flag = click.option("--json", "as_json", is_flag=True, help=json_help)
        return json_flag(quiet_option(function))

    return options


def quiet_option(function: _F) -> _F:
    """Gives a command --quiet, beside a --json of a kind that no other command has."""
    return click.option(
        "--quiet",
        "-q",
        is_flag=True,
        expose_value=False,
        callback=_keep,
        help="No tables and no progress; notes, errors and --json stay (default: all of it).",
    )(function)


def is_quiet() -> bool:
    """Returns whether the running command has --quiet."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(_QUIET))


def say(text: object = "", nl: bool = True) -> None:
    """Prints a part of the result on stdout; nothing with --quiet."""
    if not is_quiet():
        click.echo(visible(str(text)), nl=nl)


def tell(text: object) -> None:
    """Prints progress on stderr; nothing with --quiet."""
    if not is_quiet():
        click.echo(visible(str(text)), err=True)


def note(text: object) -> None:
    """Prints a remark on stderr, also with --quiet."""
    click.echo(f"note: {visible(str(text))}", err=True)
