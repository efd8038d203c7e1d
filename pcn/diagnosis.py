"""The log of a command and the traceback of its error: -v, --debug, PCN_DEBUG=1."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

import click

VARIABLE = "PCN_DEBUG"
"""As --debug, also for processes that the command starts."""


def is_debugging() -> bool:
    """Returns whether an error's traceback is wanted."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


@contextlib.contextmanager
def diagnosis() -> Iterator[None]:
    """Has the options' effect end with the block; begins it where the environment wants it."""
    before = os.environ.get(VARIABLE)
    try:
        if is_debugging():
            _show_log("DEBUG")
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        if (logging := sys.modules.get("logging")) and (log := logging.getLogger("pcn")).handlers:
            for handler in [handler for handler in log.handlers if handler.name == VARIABLE]:
                log.removeHandler(handler)
                log.setLevel(logging.NOTSET)


def _show_log(level: str) -> None:
    """Has the loggers below `pcn` write to stderr from this level on."""
    import logging  # only here: a command that logs nothing starts sooner

    log = logging.getLogger("pcn")
    if not any(handler.name == VARIABLE for handler in log.handlers):
        handler = logging.StreamHandler()
        handler.name = VARIABLE
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        log.addHandler(handler)
    if log.level == logging.NOTSET or log.level > logging.getLevelName(level):
        log.setLevel(level)


def _verbose(_context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        _show_log("INFO")


def _debug(_context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        os.environ[VARIABLE] = "1"
        _show_log("DEBUG")


def options(hidden: bool = False) -> list[click.Option]:
    """Returns the options -v and --debug: those of `pcn`, or hidden ones for a subcommand."""
    return [
        click.Option(
            ["--verbose", "-v"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            hidden=hidden,
            callback=_verbose,
            help="Log of what the command does, on stderr (default: warnings).",
        ),
        click.Option(
            ["--debug"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            hidden=hidden,
            callback=_debug,
            help=f"More of the log, and the traceback behind an error; so does {VARIABLE}=1.",
        ),
    ]


def add_to(command: click.Command) -> click.Command:
    """Gives a command, and those in it, the options that `pcn` has, so that they work after its
    name too."""
    if not any("--debug" in param.opts for param in command.params):
        command.params += options(hidden=True)
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            add_to(inner)
    return command
