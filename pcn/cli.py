"""The `pcn` command. Only here are errors printed and exit codes chosen: 1 for an error, 2 for a
wrong command line, 3 where `pcn run --check` found a check that isn't met, 128 + n after the signal
n."""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import click

from pcn import diagnosis
from pcn.base import mpirun, startup

# Subcommand -> where it is. Loaded when it is asked for, or for the list of them.
_COMMANDS = {
    "doctor": "pcn.commands.doctor",
    "run": "pcn.commands.run",
    "figure": "pcn.commands.figure",
    "sweep": "pcn.commands.sweep",
    "compare": "pcn.commands.compare",
    "explain": "pcn.commands.explain",
    "scheme": "pcn.commands.scheme",
    "topology": "pcn.commands.topology",
    "workload": "pcn.commands.workload",
    "up": "pcn.commands.network",
    "down": "pcn.commands.network",
    "status": "pcn.commands.network",
    "flow": "pcn.commands.flow",
    "watch": "pcn.commands.watch",
    "view": "pcn.commands.view",
    "tables": "pcn.commands.read",
    "counters": "pcn.commands.read",
    "registers": "pcn.commands.read",
    "set": "pcn.commands.control",
    "pause": "pcn.commands.control",
    "resume": "pcn.commands.control",
    "link": "pcn.commands.link",
    "pcap": "pcn.commands.pcap",
    "log": "pcn.commands.log",
    "deploy": "pcn.commands.deploy",
    "host": "pcn.commands.host",
    "exec": "pcn.commands.exec",
    "p4": "pcn.commands.p4",
    "completion": "pcn.commands.completion",
    "help": "pcn.commands.help",
}
_PYTHON_NAMES = {"set": "set_", "exec": "exec_", "help": "help_"}


# All others are over soon, and must be where a network's programs take the whole machine.
_AS_LONG_AS_IT_TAKES = ("run", "figure", "sweep", "explain", "scheme", "up", "exec", "p4", "view")
_RUNS = ("run", "figure", "sweep", "explain")
_NICE = -20


class _Commands(click.Group):
    """Finds subcommands lazily, and suggests the nearest one. Installed packages are searched for
    names that aren't ours, and for the list."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from pcn.topologies.entry_points import installed

        names = (point.name for point in installed("command"))
        return [*_COMMANDS, *(name for name in names if name not in _COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return _from_package(cmd_name)
        module = importlib.import_module(_COMMANDS[cmd_name])
        command: click.Command = getattr(module, _PYTHON_NAMES.get(cmd_name, cmd_name))
        return diagnosis.add_to(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in _COMMANDS:
            known = self.list_commands(ctx)
            if args[0] not in known:
                from pcn.base.errors import nearest

                ctx.fail(f"no command {args[0]!r}; {nearest(args[0], known)}")
        return super().resolve_command(ctx, args)


def _from_package(name: str) -> click.Command | None:
    """Returns an installed package's command. Of one that can't be loaded the call and the list of
    all have the error."""
    from pcn.base.errors import LabError
    from pcn.topologies.entry_points import find, loaded

    if (point := find("command", name)) is None:
        return None
    try:
        return diagnosis.add_to(loaded("command", point, click.Command, LabError))
    except LabError as error:
        fault = error

    def fail(**_: object) -> None:
        raise fault

    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    help_text = f"Can't be loaded: {fault}"
    return click.Command(name, callback=fail, short_help=help_text, context_settings=anything)


def _version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from pcn.experiments.run.versions import checkout
    from pcn.topologies import extras

    revision = checkout()
    commit = (
        ""
        if revision["commit"] == "unknown"
        else f", commit {revision['commit'][:12]}, {revision['tree']}"
    )
    click.echo(f"pcn {extras.version()}{commit}")
    context.exit()


@click.command(
    cls=_Commands,
    params=diagnosis.options(),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    "-V",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Version of PCN Lab, in a checkout with the commit and whether files differ from it.",
)
def pcn() -> None:
    """Photonic Congestion Notification (PCN) on P4 switches: experiments and networks, on Mininet
    or in virtual time.

    \b
    Examples:
      pcn doctor                       software that this machine lacks
      pcn run dumbbell                 an experiment, with a report
      pcn up dumbbell                  a network that stays up until `pcn down`
      pcn flow start h0 r0 --size 64KB
      pcn watch
      pcn down

    -v and --debug work after a command's name as well.
    """


def main() -> None:
    """Entry point: runs the command line and ends the process."""
    startup.begin()
    # There is no linear algebra here, for which numpy would start a thread a core: a tenth of a
    # command's start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.umask(os.umask(0o077) | 0o022)  # no other user writes what is written here
    # A run's many objects live as long as it does, and each collection looks at them all; other
    # commands may stay for days, and what they leave is collected.
    name = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    gc.set_threshold(1_000_000 if name in _RUNS else 50_000, 20, 50)
    if name and name not in _AS_LONG_AS_IT_TAKES:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, _NICE)
    try:
        code = run(sys.argv[1:])
    except ImportError as error:
        code = _fail(_import_text(error), 1, error)
    startup.begin()  # what is left is Python's own end, which would report an interrupt
    gc.freeze()  # the process ends: nothing is looked through for what could be freed
    sys.exit(code)


def _import_text(error: ImportError) -> str:
    """Returns what isn't installed. Raises the error where it is no extra's."""
    from pcn.topologies import extras

    if extra := extras.of_import(error):
        return str(extras.MissingExtraError(extra))
    raise error


def run(arguments: list[str]) -> int:
    """Runs a command line; its exit code."""
    with diagnosis.diagnosis(), _old_names_noted():
        return _run(arguments)


@contextlib.contextmanager
def _old_names_noted() -> Iterator[None]:
    """Prints a line on stderr for each name that the next release won't have."""
    from pcn.escape import visible
    from pcn.topologies.deprecation import OldNameWarning

    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, OldNameWarning):
            before(message, category, *place, **more)
        elif (text := str(message)) not in shown:
            shown.add(text)
            click.echo(f"note: {visible(text)}", err=True)

    with warnings.catch_warnings():
        before = warnings.showwarning
        warnings.simplefilter("always", OldNameWarning)
        warnings.showwarning = show
        yield


def _run(arguments: list[str]) -> int:
    from pcn.base.signals import Terminated, heed_interrupts, raising

    heed_interrupts()
    try:
        with raising():
            # what the command returned
            _require_utf8(arguments)
            code = _command(arguments)
            sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        return _fail(_one_line(error), error.exit_code, error)
    except (KeyboardInterrupt, click.Abort) as error:
        return _fail("interrupted", 128 + signal.SIGINT, error)
    except Terminated as error:
        return _fail(f"ended by {error}", 128 + error.number, error)
    except MemoryError as error:
        return _fail("out of memory: is it limited (ulimit -v)?", 1, error)
    except _known_errors() as error:
        return _fail(str(error), 1, error)
    except OSError as error:
        from pcn.base.errors import NO_ROOM

        if deleted := startup.deleted_folder(error):
            return _fail(deleted, 1, error)
        if error.errno not in (*NO_ROOM, errno.ENAMETOOLONG):
            raise
        # what waits for stdout has no room, either: it isn't tried again
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _fail(
            f"can't write {error.filename or 'the output'}: {os.strerror(error.errno)}", 1, error
        )
    return code or 0


def _require_utf8(arguments: list[str]) -> None:
    """Raises UsageError for bytes that are no text: results and pages are UTF-8, names in them,
    too."""
    for word in arguments:
        try:
            word.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(word).decode(errors="backslashreplace")
            raise click.UsageError(
                f"{shown}: PCN Lab needs names in UTF-8, and a locale that has their characters "
                "(LC_ALL=C.UTF-8)"
            ) from None


def _command(arguments: list[str]) -> int:
    """Runs a command line, in the first of several processes where `mpirun` has started them."""

    def command() -> int:
        return int(pcn.main(arguments, prog_name="pcn", standalone_mode=False) or 0)

    if mpirun.processes() == 1:
        return command()
    if next((word for word in arguments if not word.startswith("-")), "") != "run":
        if not mpirun.is_first():
            return 0  # at a failure the launcher would end the first one before it prints why
        raise click.UsageError(
            "mpirun starts the parts of one `pcn run`: other commands are for one process"
        )
    from pcn.experiments.run import processes
    from pcn.experiments.run.virtual import carry_out_part

    return processes.lead(command, carry_out_part)


def _known_errors() -> tuple[type[Exception], ...]:
    """Returns what one line reports. Where there is an error: these modules take a fifth of a
    command's start."""
    from pcn.base.errors import LabError
    from pcn.hosts.client import AgentError
    from pcn.softswitch.cache.objects import BuildError

    return LabError, AgentError, BuildError


def _one_line(error: click.ClickException) -> str:
    """Returns a wrong command line in one line: what is wrong, and where what is right stands."""
    text = " ".join(error.format_message().split())
    if isinstance(error, click.UsageError) and error.ctx and "--help" not in text:
        text += f" (`{error.ctx.command_path} --help`)"
    return text


def _fail(text: str, code: int, error: BaseException) -> int:
    from pcn.escape import visible

    if diagnosis.is_debugging():
        import traceback

        click.echo("".join(traceback.format_exception(error)), nl=False, err=True)

    click.echo(f"pcn: {visible(text)}", err=True)
    return code
