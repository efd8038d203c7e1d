"""The `softswitch` command: simple_switch_grpc's options, and a few of its own."""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType

from softswitch.errors import StartError
from softswitch.options import LOG_LEVELS, OptionError, Options, parse

log = logging.getLogger("softswitch")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a switch until SIGTERM or SIGINT. 0: ended in order; 1: could not start; 2: bad arguments."""
    try:
        options = parse(sys.argv[1:] if arguments is None else arguments)
    except OptionError as error:
        print(f"softswitch: {error}", file=sys.stderr)
        return 2
    _keep_nothing_unwritten()
    end = End()
    try:
        _set_up_logging(options)
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # gRPC's own messages would double ours
        from softswitch.serve import serve  # late: --help and bad arguments don't wait for it

        serve(options, _say, end.wait)
    except StartError as error:
        if end.asked:
            return 0  # Ctrl-C reaches the C compiler as well, whose failure is not news then
        _say(str(error))
        return 1
    return 0


class End:
    """The process's end, which SIGTERM or SIGINT asks for. One a process, made in its main thread."""

    def __init__(self) -> None:
        self.asked = False
        self._bytes, write = os.pipe()
        os.set_blocking(write, False)
        # A byte for each signal: one that comes just before a wait, or to another thread, wouldn't interrupt it.
        signal.set_wakeup_fd(write)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True

    def wait(self) -> None:
        os.read(self._bytes, 1)


def _keep_nothing_unwritten() -> None:
    """What a full disk refused would stay in the buffer, fail again at the end, and turn status 0 into 120."""
    with suppress(OSError, ValueError):
        raw = open(sys.stderr.fileno(), "wb", buffering=0, closefd=False)  # noqa: SIM115  # lives as long as the process
        sys.stderr = io.TextIOWrapper(raw, errors="backslashreplace", write_through=True)


def _say(line: str) -> None:
    """To whoever started the switch. On a full disk nobody hears it, and the switch goes on."""
    with suppress(OSError):
        print(f"softswitch: {line}", file=sys.stderr, flush=True)


class _LogFile(logging.FileHandler):
    """A log file whose disk may fill up: that is told once, and lines that don't fit are lost."""

    failed = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        error = sys.exc_info()[1]
        if not self.failed:
            _say(f"cannot write to {self.baseFilename}: {error}; the switch goes on, lines of the log are lost")
        self.failed = True


def _set_up_logging(options: Options) -> None:
    handler: logging.Handler
    if options.log_file is None:
        handler = logging.StreamHandler()
    else:
        try:
            handler = _LogFile(options.log_file, encoding="utf-8")
        except OSError as error:
            raise StartError(f"cannot write {options.log_file}: {error.strerror}") from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.raiseExceptions = False  # a full disk must not stop the switch, nor fill stderr
    log.addHandler(handler)
    log.setLevel(LOG_LEVELS[options.log_level])
