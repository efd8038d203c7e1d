"""The `softswitch` command: simple_switch_grpc's options, and a few more."""

from __future__ import annotations

import gc
import io
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING

from pcn.base import owner_only
from pcn.softswitch.errors import EndError, StartError
from pcn.softswitch.log_file import Format, LogFile, say, stderr
from pcn.softswitch.options import OptionError, Options
from pcn.softswitch.several_switches import parse_all
from pcn.softswitch.values import LOG_LEVELS

if TYPE_CHECKING:
    from pcn.softswitch.serve import Engine

log = logging.getLogger("pcn.softswitch")
_SWITCH_S = 0.5e-3
"""For how long a thread of Python goes on while others wait (Python's own: 5 ms): a primary's Write
waits for a turn behind the workers that make strangers' answers."""


def main(
    arguments: Sequence[str] | None = None, load_engine: Callable[[], Engine] | None = None
) -> int:
    """Runs one switch, or several, until SIGTERM or SIGINT. 0: ended in order; 1: could not start,
    or not write what it writes at its end; 2: bad arguments. `load_engine`: what --engine has;
    None: it is refused."""
    try:
        switches = parse_all(sys.argv[1:] if arguments is None else arguments)
        if load_engine is None and any(options.engine for options in switches):
            raise OptionError("--engine: pcn.softswitch alone has none; start `softswitch`")
    except OptionError as error:
        print(f"softswitch: {error}", file=sys.stderr)
        return 2
    _keep_nothing_unwritten()
    end = End()
    try:
        logging.raiseExceptions = False  # a full disk must not stop the switch, nor fill stderr
        for options in switches:
            logger = (
                log if len(switches) == 1 else logging.getLogger(f"{log.name}.{options.device_id}")
            )
            _set_up_logging(options, logger)
        from pcn.softswitch.cache.compiler_process import end_compilers
        from pcn.softswitch.serve import serve  # late: --help and bad arguments don't wait for it

        end.at_once = end_compilers
        by_engine = any(options.engine for options in switches)
        engine = load_engine() if load_engine is not None and by_engine else None
        serve(switches, say, lambda: _run(end), engine)
    except StartError as error:
        if end.requested:
            return 0  # the C compiler was ended as well, whose failure is not news then
        say(str(error))
        return 1
    except EndError as error:
        say(str(error))
        return 1
    logging.shutdown()
    # What a thread still does, such as loading a program, is of no use, and nobody waits for it.
    os._exit(0)


def _run(end: End) -> None:
    sys.setswitchinterval(_SWITCH_S)
    gc.freeze()
    gc.enable()  # see __main__.py
    end.wait()


class End:
    """The process's end, which SIGTERM or SIGINT requests. One a process, made in its main
    thread."""

    def __init__(self) -> None:
        self.requested = False
        self.at_once: Callable[[], None] | None = None  # what the signal's handler does by itself
        self._bytes, write = os.pipe()
        os.set_blocking(write, False)
        # A byte for each signal: one that comes just before a wait, or to another thread, wouldn't
        # interrupt it.
        signal.set_wakeup_fd(write)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.requested = True
        if self.at_once is not None:
            self.at_once()

    def wait(self) -> None:
        os.read(self._bytes, 1)


def _keep_nothing_unwritten() -> None:
    """What a full disk refused would stay in the buffer, fail again at the end, and turn status 0
    into 120."""
    with suppress(OSError, ValueError):
        raw = open(sys.stderr.fileno(), "wb", buffering=0, closefd=False)  # noqa: SIM115  # lives as long as the process
        sys.stderr = io.TextIOWrapper(
            raw, sys.stderr.encoding, sys.stderr.errors, write_through=True
        )


def _set_up_logging(options: Options, log: logging.Logger) -> None:
    if options.log_file is None:
        handle = stderr()
    else:
        try:
            handle = owner_only.output(options.log_file, append=True)
        except (OSError, owner_only.NotPrivateError) as error:
            raise StartError(
                f"cannot write {options.log_file}: {getattr(error, 'strerror', error)}"
            ) from error
    handler = LogFile(handle, options.log_file)
    handler.setFormatter(Format("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(LOG_LEVELS[options.log_level])
