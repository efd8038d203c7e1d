"""The `softswitch` command: simple_switch_grpc's options, and a few of its own."""

from __future__ import annotations

import importlib.util
import io
import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from types import FrameType, ModuleType

from softswitch.errors import StartError
from softswitch.options import LOG_LEVELS, OptionError, Options, parse

# What libraries import at their start and a switch never uses, though it would take 30 to 40 ms of the start.
UNUSED = frozenset(
    (
        "asyncio",
        "finsy.proto.gnmi1.gnmi_ext_pb2",
        "finsy.proto.gnmi1.gnmi_pb2",
        "finsy.proto.gnmi1.gnmi_pb2_grpc",
        "google.protobuf.internal.python_message",  # protobuf without its C part
        "grpc.aio",
    )
)

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
        _leave_out()
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


class _Unused:
    """Modules of UNUSED are loaded when somebody looks into them."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in UNUSED else None
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
        return spec


def _leave_out() -> None:
    """What libraries load at their start and a switch never uses."""
    sys.meta_path.insert(0, _Unused())
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its own messages would double ours
    # The server needs finsy's protobuf modules alone, not the client that the package starts with.
    spec = importlib.util.find_spec("finsy") if "finsy" not in sys.modules else None
    if spec is not None:
        sys.modules["finsy"] = importlib.util.module_from_spec(spec)
    # OpenSSL, for hashlib, which goes on without; gRPC has its own TLS. Some systems have no other SHA-256.
    if any(importlib.util.find_spec(name) for name in ("_sha256", "_sha2")):
        sys.modules.setdefault("_hashlib", None)  # type: ignore[arg-type]


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
