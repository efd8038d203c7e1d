"""The `softswitch` command: simple_switch_grpc's options, and a few of its own."""

from __future__ import annotations

import importlib.util
import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from softswitch.codegen.build import BuildError, build_program, build_runtime
from softswitch.native import NativeError, NativeSwitch, load_library
from softswitch.options import LOG_LEVELS, OptionError, Options, parse
from softswitch.program import load_program
from softswitch.program.errors import ProgramError

log = logging.getLogger("softswitch")


class StartError(Exception):
    """The switch cannot start; the message is the line the user sees."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a switch until SIGTERM or SIGINT. 0: ended in order; 1: could not start; 2: bad arguments."""
    try:
        options = parse(sys.argv[1:] if arguments is None else arguments)
    except OptionError as error:
        print(f"softswitch: {error}", file=sys.stderr)
        return 2
    _keep_nothing_unwritten()
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    try:
        _set_up_logging(options)
        _run(options, stopping)
    except (StartError, BuildError, NativeError) as error:
        if stopping.is_set():
            return 0  # Ctrl-C reaches the C compiler as well, whose failure is not news then
        _say(str(error))
        return 1
    return 0


def _keep_nothing_unwritten() -> None:
    """What a full disk refused would stay in the buffer, fail again at the end, and turn status 0 into 120."""
    with suppress(OSError, ValueError):
        raw = open(sys.stderr.fileno(), "wb", buffering=0, closefd=False)  # noqa: SIM115  # lives as long as the process
        sys.stderr = io.TextIOWrapper(raw, errors="backslashreplace", write_through=True)


def _say(line: str) -> None:
    """To whoever started the switch. On a full disk nobody hears it, and the switch goes on."""
    with suppress(OSError):
        print(f"softswitch: {line}", file=sys.stderr, flush=True)


def _run(options: Options, stopping: threading.Event) -> None:
    # Imported late: --help and bad arguments should not wait for gRPC. Its own messages would double ours.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    _leave_out_client()
    from softswitch.p4runtime.pipeline import Pipeline
    from softswitch.p4runtime.server import Server, ServerError
    from softswitch.p4runtime.service import Service

    for option in options.ignored:
        log.warning("option %s has no meaning here and is ignored", option)
    with ExitStack() as stack:
        library = load_library(build_runtime())
        native = stack.enter_context(
            NativeSwitch(
                library,
                priorities=options.priorities,
                queue_depth=options.queue_depth,
                cpu_port=options.cpu_port,
                drop_port=options.drop_port,
                seed=options.seed,
            )
        )
        _add_ports(native, options)
        if options.program is not None:
            _load(native, options.program)
        native.start()
        pipeline = Pipeline(native, library)
        stack.callback(pipeline.close)
        service = Service(native, pipeline, options.device_id, options.cpu_port)
        try:
            server = Server(service, options.grpc_address, options.tls())
            stack.enter_context(server)
        except (ServerError, OptionError) as error:
            raise StartError(str(error)) from error
        ports = " ".join(f"{port}@{interface}" for port, interface in options.interfaces) or "none"
        ready = f"device {options.device_id} listening on {server.address}, ports: {ports}"
        _say(ready)
        if options.log_file is not None:
            log.info("%s", ready)
        stopping.wait()
        log.info("ending")


def _leave_out_client() -> None:
    """The server needs finsy's protobuf modules alone; the client that the package starts with costs 40 ms."""
    spec = importlib.util.find_spec("finsy") if "finsy" not in sys.modules else None
    if spec is not None:
        sys.modules["finsy"] = importlib.util.module_from_spec(spec)


def _add_ports(native: NativeSwitch, options: Options) -> None:
    for port, interface in options.interfaces:
        try:
            native.port_add(port, interface)
        except NativeError as error:
            raise StartError(f"port {port}: {error}") from error
    for port, shape in options.shapes().items():
        try:
            native.port_shape(port, rate_bps=shape.rate_bps, delay_ns=shape.delay_ns)
        except NativeError as error:
            raise StartError(f"port {port}: {error}") from error


def _load(native: NativeSwitch, path: Path) -> None:
    try:
        native.load(build_program(load_program(path.read_text(encoding="utf-8"))))
    except OSError as error:
        raise StartError(f"cannot read {path}: {error.strerror}") from error
    except (ProgramError, UnicodeDecodeError) as error:
        raise StartError(f"{path}: {error}") from error


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
