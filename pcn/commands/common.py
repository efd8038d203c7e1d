"""What the subcommands share: options, units, output."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click
from click.core import ParameterSource

from pcn.base import owner_only, packed
from pcn.base.units import Kind, quantity
from pcn.commands.output import is_quiet
from pcn.complete import complete_network
from pcn.escape import visible

if TYPE_CHECKING:
    from pcn.lab.journal import Record

_F = TypeVar("_F", bound=Callable[..., Any])

_SHORT = 18  # characters of a cell that is never broken


class Quantity(click.ParamType):  # type: ignore[type-arg]  # generic in newer releases alone
    """A number with a unit, as `pcn.base.units` reads it, above 0 unless `zero`."""

    def __init__(self, kind: Kind, zero: bool = False) -> None:
        self.kind = kind
        self.zero = zero
        self.name = kind

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        try:
            number = quantity(self.kind, str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if number < 0 or (number == 0 and not self.zero):
            self.fail(f"{value!r}: must be {'0 or more' if self.zero else 'above 0'}", param, ctx)
        return number


class FilePath(click.Path):
    """A path that a command names on the terminal: so it has no control characters. `exists`: the
    file of a program may be packed (base/packed.py)."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(path_type=Path, **settings)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = os.fsdecode(value)
        if visible(text) != text or len(text.splitlines()) > 1:
            self.fail(f"{text!r}: a name without control characters is needed", param, ctx)
        path = Path(text)
        program = self.exists and self.file_okay and path.suffix == ".json"
        if program and packed.is_file(path) and not path.exists():
            return path
        return super().convert(value, param, ctx)


def assignments(texts: Iterable[str], example: str) -> dict[str, str]:
    """Reads name=value, by name; what the value means, its reader decides. Raises BadParameter."""
    by_name: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise click.BadParameter(f"{text!r}: write it as name=value, for instance {example}")
        if name in by_name:
            raise click.BadParameter(f"{name} is given twice: give one")
        by_name[name] = value
    return by_name


def listing(title: str, rows: Callable[[], Iterable[tuple[str, str]]]) -> type[click.Command]:
    """Makes a command whose help ends with a list of (name, description), computed when the help is
    shown."""

    class Listing(click.Command):
        def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            with formatter.section(title):
                formatter.write_dl(list(rows()))

    return Listing


def network_option(function: _F) -> _F:
    return click.option(
        "--network",
        "-n",
        metavar="NAME",
        # Read before arguments: what these complete to depends on it.
        is_eager=True,
        shell_complete=complete_network,
        help="Network, where several are up.",
    )(function)


def write_file(path: Path, content: bytes) -> None:
    """Writes a file that the command line names. Raises LabError."""
    try:
        with os.fdopen(owner_only.output(path), "wb") as file:
            file.write(content)
    except (OSError, owner_only.NotPrivateError) as error:
        from pcn.base.errors import LabError

        raise LabError(f"{path}: {getattr(error, 'strerror', error)}") from None


@contextmanager
def text_output(path: Path | None) -> Iterator[TextIO]:
    """Yields a file that the command line names, to write lines to; stdout for None and -. Raises
    LabError."""
    if path is None or str(path) == "-":
        yield sys.stdout
        return
    try:
        file = os.fdopen(owner_only.output(path), "w", encoding="utf-8")
    except (OSError, owner_only.NotPrivateError) as error:
        from pcn.base.errors import LabError

        raise LabError(f"{path}: {getattr(error, 'strerror', error)}") from None
    with file:
        yield file


def port_option(function: _F) -> _F:
    return click.option(
        "--port", type=click.IntRange(1, 65535), default=None, callback=lambda _context, _parameter,
        value: value or 0,
        help="Port of the page, on loopback (default: a free one).",
    )(function)  # fmt: skip


def control_option(function: _F) -> _F:
    return click.option(
        "--control", is_flag=True, help="Commands on the page of --web, which is read-only without."
    )(function)  # fmt: skip


def strict_option(function: _F) -> _F:
    return click.option(
        "--strict", is_flag=True,
        help=(
            "End at the first command of a command file that fails (default: go on, as "
            "simple_switch_CLI)."
        ),
    )(function)  # fmt: skip


def alone_options(function: _F) -> _F:
    """Gives a command the network of a program that has none."""
    hosts = click.option(
        "--hosts",
        type=int,
        metavar="N",
        help="Hosts at the one switch of a program alone (default: 2).",
    )
    return click.option(
        "--topology",
        metavar="NAME",
        help="Topology of a program alone, as of `pcn topology` (default: one switch).",
    )(hosts(function))


def rate_and_seed_options(function: _F) -> _F:
    """Gives a command what a run of a P4 network in virtual time has besides its file."""
    seed = click.option(
        "--seed",
        type=int,
        default=1,
        show_default=True,
        help="Seed of random times and of programs.",
    )
    return click.option(
        "--rate",
        type=Quantity("rate"),
        default="10G",
        show_default=True,
        help="Rate of links without a bandwidth.",
    )(seed(function))


def jumbo_option(function: _F) -> _F:
    return click.option(
        "--jumbo", is_flag=True, help=(
            "Frames of up to 9,216 bytes in virtual time (default: 2,048)."
        )
    )(function)  # fmt: skip


def refuse(why: str, *names: str) -> None:
    """Raises UsageError where the command line has options of these names, which would do
    nothing."""
    context = click.get_current_context()
    options = [
        max(param.opts, key=len)
        for param in context.command.params
        if param.name in names
        and context.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
    ]
    if options:
        raise click.UsageError(f"{', '.join(options)}: {why}")


def named_network(name: str | None, network: str | None) -> str | None:
    """Returns the network that a command's argument or --network names; None: neither does. Raises
    UsageError where they differ."""
    if name and network and name != network:
        raise click.UsageError(f"{name} and --network {network}: name one network")
    return name or network


class _Threads(click.ParamType):  # type: ignore[type-arg]  # generic in newer releases alone
    """N, or auto."""

    name = "threads"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from pcn.virtualnet.native import MOST_THREADS
        from pcn.virtualnet.threads import AUTO

        text = str(value)
        if text != AUTO and not (text.isdecimal() and 1 <= int(text) <= MOST_THREADS):
            self.fail(f"{text!r}: a number from 1 to {MOST_THREADS}, or {AUTO}", param, ctx)
        return text


def _command_threads(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    from pcn.virtualnet.threads import VARIABLE

    if value is not None:
        os.environ[VARIABLE] = value  # of processes that this one starts, too


def threads_option(function: _F) -> _F:
    """Adds --threads to a command that runs networks in virtual time; `pcn.virtualnet.threads`
    reads the number."""
    return click.option(
        "--threads",
        type=_Threads(),
        metavar="N|auto",
        expose_value=False,
        callback=_command_threads,
        help=(
            "Threads of a run in virtual time (default: auto, the cores that parallel runs leave "
            "free)."
        ),
    )(function)


def election_id_option(default: int | None = None) -> Callable[[_F], _F]:
    unless = "" if default else " (default: one above the network's own)"
    return click.option(
        "--election-id",
        type=click.IntRange(1, 2**128 - 1),
        metavar="N",
        default=default,
        show_default=True,
        help=f"P4Runtime's election id: the controller with the highest may write{unless}.",
    )


def print_pace(record: Record, beside: bool) -> None:
    """Prints in a line which nodes of a network don't keep pace, if any: on stderr where it is
    `beside` the output, or there is none."""
    from pcn.lab.pace import Pacing

    if (overload := Pacing(record).overload()) is not None:
        click.echo(str(overload), err=beside or is_quiet())


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table that is as wide as it needs to be: numbers to the right; no styling when output isn't
    a terminal; nothing with --quiet. Its texts may be a switch's or a file's: control characters
    are written out."""
    if is_quiet():
        return
    title = visible(title)
    texts = [[visible(str(cell)) for cell in row] for row in rows]
    # Where the terminal is narrow, long texts give way; a number in two lines is none.
    right = [
        bool(texts) and all(_NUMBER.fullmatch(row[number]) for row in texts)
        for number in range(len(columns))
    ]
    terminal = sys.stdout.isatty()
    most = shutil.get_terminal_size().columns if terminal else _FILE_WIDTH
    if (lines := _plain(columns, texts, right)) and len(lines[0]) <= most and _is_utf8(sys.stdout):
        header = len(max(columns, key=lambda text: text.count("\n")).split("\n"))
        click.echo(title)
        styled = range(1, header + 1) if os.environ.get("TERM") not in _DUMB else ()
        for number, line in enumerate(lines):
            click.echo(click.style(line, bold=True) if number in styled else line)
        return
    _print_folded(title, columns, texts, right, None if terminal else _FILE_WIDTH)


_NUMBER = re.compile(r"[-+\d.,]+( ?\S+)?")
_FILE_WIDTH = 500  # characters, where output isn't a terminal
_DUMB = ("dumb", "unknown")  # terminals that have no bold letters


def _is_utf8(stream: TextIO) -> bool:
    return (stream.encoding or "utf-8").lower().replace("-", "") == "utf8"


def _plain(
    columns: Sequence[str], texts: Sequence[Sequence[str]], right: Sequence[bool]
) -> list[str]:
    """Returns the lines that rich gives a table which needs no folding, as of a network with
    hundreds of nodes: rich takes 0.5 ms a row. An empty list where a cell has other than ASCII
    characters, which may be wider than one."""
    if not all(cell.isascii() and cell.isprintable() for row in texts for cell in row):
        return []
    heads = [column.split("\n") for column in columns]
    height = max(map(len, heads))
    heads = [[""] * (height - len(head)) + head for head in heads]
    widths = [
        max(map(len, (*head, *(row[number] for row in texts)))) for number, head in enumerate(heads)
    ]
    all_rows = [*zip(*heads, strict=True), *texts]
    rows = [
        [
            cell.rjust(wide) if to_right else cell.ljust(wide)
            for cell, wide, to_right in zip(cells, widths, right, strict=True)
        ]
        for cells in all_rows
    ]
    lines = [f" {'  '.join(cells)} " for cells in rows]
    blank, rule = " " * len(lines[0]), " " + "\u2500" * (len(lines[0]) - 2) + " "
    return [blank, *lines[:height], rule, *lines[height:], blank]


def _print_folded(
    title: str,
    columns: Sequence[str],
    texts: Sequence[Sequence[str]],
    right: Sequence[bool],
    width: int | None,
) -> None:
    """By rich, which folds what is too wide."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for number, column in enumerate(table.columns):
        column.no_wrap = max((len(row[number]) for row in texts), default=0) <= _SHORT
        if right[number]:
            column.justify = "right"
        column.overflow = "fold"
    for row in texts:
        table.add_row(*map(Text, row))  # no markup: a name may have brackets
    console = Console(highlight=False) if width is None else Console(highlight=False, width=width)
    console.print(title, soft_wrap=True, markup=False)
    console.print(table)


class_option = click.option(
    "--class",
    "traffic_class",
    type=click.IntRange(0, 7),
    default=3,
    show_default=True,
    help="Traffic class.",
)


exercise_program_option = click.option(
    "--program",
    type=FilePath(exists=True, dir_okay=False),
    metavar="FILE",
    help=(
        "Program, x.p4 or x.json: in place of the exercise's with this name (default: the "
        "exercise's)."
    ),
)


program_option = click.option(
    "--program",
    metavar="FILE",
    type=click.Path(),
    help="Program of the switches: x.p4, or x.json by p4c (default: the scheme's).",
)


def with_program(schemes: str, program: str | None) -> str:
    """Schemes, with commas between, with another program in the switches: as `find_scheme` reads
    them."""
    return (
        ",".join(f"{word.strip()}@{program}" for word in schemes.split(",")) if program else schemes
    )
