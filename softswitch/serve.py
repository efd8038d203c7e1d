"""A process of switches: ports, programs, threads and P4Runtime servers, until a signal ends it."""

from __future__ import annotations

import ctypes
import errno
import logging
import os
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pcn.base import packed, priority
from pcn.base.address import is_local
from pcn.base.namespaces import NamespaceError, in_namespace
from pcn.softswitch import gnmi
from pcn.softswitch.cache.compiler_process import end_compilers
from pcn.softswitch.codegen.build import BuildError, build_program, build_runtime, find_runtime
from pcn.softswitch.errors import EndError, StartError
from pcn.softswitch.gnmi import Gnmi
from pcn.softswitch.native import RING_FRAMES, NativeError, NativeSwitch, load_library
from pcn.softswitch.options import OptionError, Options
from pcn.softswitch.p4runtime import front
from pcn.softswitch.p4runtime.limits import CONNECTIONS
from pcn.softswitch.p4runtime.pipeline import Pipeline
from pcn.softswitch.p4runtime.server import Server, ServerError
from pcn.softswitch.p4runtime.service import Service
from pcn.softswitch.program.errors import ProgramError
from pcn.softswitch.reflection import Reflection

if TYPE_CHECKING:
    from pcn.softswitch.coverage.counts import Counts
    from pcn.softswitch.pace import Place
    from pcn.softswitch.trace.tracer import Tracer

# Of all ports' rings together, some 12 MB at an MTU of 1,044: a switch of many ports takes in no
# more than one of few.
ALL_RING_FRAMES = 10_000
LEAST_RING_FRAMES = 256
# beside the two sockets of each port, and those of clients that reach a switch by an open address
DESCRIPTORS = 256
CONTROL_NICE = -20
CLOSERS = 64

log = logging.getLogger("pcn.softswitch")


class Engine(Protocol):
    """Makes switches whose packets it moves."""

    def __call__(
        self,
        library: ctypes.CDLL,
        *,
        weights: Mapping[int, Sequence[int]],
        arbitration: str | None,
        **options: Any,
    ) -> NativeSwitch:
        """Returns a switch with these `options` of `NativeSwitch`. `weights`: by port, one a class;
        0: strict. `arbitration`: among packets of a class; None: in order. Raises NativeError,
        BuildError."""
        ...


def serve(
    switches: Sequence[Options],
    say: Callable[[str], None],
    wait: Callable[[], object],
    engine: Engine | None = None,
) -> None:
    """Prints a line with `listening` for each switch once all are ready. Ends when `wait` does.
    `engine`: for the switches that are to have one. Raises StartError, and EndError for what can't
    be written at the end."""
    for options in switches:
        for warning in options.warnings():
            say(f"warning: {warning}")
    try:
        _serve(switches, say, wait, engine)
    except (ServerError, OptionError, BuildError, NativeError, NamespaceError) as error:
        raise StartError(str(error)) from error


def _log(options: Options) -> logging.Logger:
    return logging.getLogger(f"pcn.softswitch.{options.device_id}")


def _serve(
    switches: Sequence[Options],
    say: Callable[[str], None],
    wait: Callable[[], object],
    engine: Engine | None,
) -> None:
    priority.raise_descriptors(_descriptors(switches))
    priority.map_arrays()
    if any(switch.interfaces for switch in switches):
        priority.lock_memory()  # pages that packets rarely touch could be swapped out
        if priority.refused():
            say(f"warning: {priority.REFUSED}")
    with ExitStack() as stack:
        objects = _build(
            {
                (switch.program, switch.traced, switch.coverage is not None)
                for switch in switches
                if switch.program is not None
            }
        )
        counts = _counts(switches)
        library = load_library(objects.runtime)
        natives = {
            switch.device_id: in_namespace(
                switch.namespace, partial(_make, library, switch, engine, stack)
            )
            for switch in switches
        }
        stack.callback(_close, list(natives.values()))
        for switch in switches:
            for port, device_id, other_port in switch.channels:
                if (switch.device_id, port) < (device_id, other_port):  # once for its two ends
                    natives[switch.device_id].connect(port, natives[device_id], other_port)
            for port, link in switch.process_links.items():
                _connect_process(natives[switch.device_id], port, *link)
        tracers = {
            switch.device_id: _trace(natives[switch.device_id], switch, stack)
            for switch in switches
            if switch.traced
        }
        for switch in switches:
            reports = tracers.get(switch.device_id), counts.get(switch.device_id)
            in_namespace(
                switch.namespace,
                partial(_prepare, natives[switch.device_id], objects, switch, *reports, stack),
            )
        for native in natives.values():
            stack.callback(native.stop)  # all of them before one is closed
        for few in _by_worker(list(natives.values())):
            NativeSwitch.start_together(few)
        if any(switch.pace is not None for switch in switches):
            # The threads that this one makes answer commands: before workers and agents without
            # real-time priority.
            priority.raise_priority(CONTROL_NICE)
        servers = [
            _offer(
                natives[switch.device_id],
                library,
                switch,
                tracers.get(switch.device_id),
                counts.get(switch.device_id),
                stack,
                say,
            )
            for switch in switches
        ]
        for switch, server in zip(switches, servers, strict=True):
            ready = (
                f"device {switch.device_id} listening on {server.address}, ports: {_ports(switch)}"
            )
            say(ready)
            if switch.log_file is not None:
                _log(switch).info("%s", ready)
        wait()
        end_compilers()
        for switch, server in zip(switches, servers, strict=True):
            _log(switch).info("ending")
            server.end()
        for device_id in counts:
            natives[device_id].collect()
        _write_counts(switches, counts)


def _counts(switches: Sequence[Options]) -> dict[int, Counts]:
    """Returns the counts of switches whose programs are covered, by device. Raises StartError."""
    covered = {
        switch.device_id: switch.coverage for switch in switches if switch.coverage is not None
    }
    if not covered:
        return {}
    from pcn.softswitch.coverage import counts, files  # late: few switches are covered

    for place in covered.values():
        try:
            files.check(place)
        except files.CoverageError as error:
            raise StartError(f"--coverage {error}") from None
    return {device_id: counts.Counts() for device_id in covered}


def _write_counts(switches: Sequence[Options], counts: Mapping[int, Counts]) -> None:
    """Writes each file of coverage once, for all switches that it is of. Raises EndError."""
    places = dict.fromkeys(switch.coverage for switch in switches if switch.coverage is not None)
    if not places:
        return
    from pcn.softswitch.coverage import files

    for place in places:
        of_place = [switch for switch in switches if switch.coverage == place]
        runs = [covered for switch in of_place for covered in counts[switch.device_id].covered()]
        roots = [switch.program.parent for switch in of_place if switch.program is not None]
        try:
            files.write(place, runs, roots)
        except files.CoverageError as error:
            raise EndError(f"--coverage {error}") from None


class _Objects(NamedTuple):
    """Shared objects: the runtime, and the programs by the files of their JSON, traced or not,
    covered or not."""

    runtime: Path
    programs: Mapping[tuple[Path, bool, bool], Path]


def _build(programs: Set[tuple[Path, bool, bool]]) -> _Objects:
    """Compiles what the cache lacks, runtime and programs side by side. Raises StartError,
    BuildError."""
    if (library := find_runtime()) is not None:
        return _Objects(library, {program: _build_file(*program) for program in sorted(programs)})
    from concurrent.futures import ThreadPoolExecutor  # late: most starts compile nothing

    with ThreadPoolExecutor(1) as pool:
        runtime = pool.submit(build_runtime)
        built = {program: _build_file(*program) for program in sorted(programs)}
        return _Objects(runtime.result(), built)


def _build_file(path: Path, traced: bool, covered: bool) -> Path:
    try:
        return build_program(packed.read_text(path), traced=traced, covered=covered)
    except OSError as error:
        raise StartError(f"cannot read {path}: {error.strerror}") from error
    except (ProgramError, UnicodeDecodeError) as error:
        raise StartError(f"{path}: {error}") from error


def _close(natives: Sequence[NativeSwitch]) -> None:
    """Closes switches that have stopped, all at once: the kernel lets each packet socket wait for
    all cores."""
    from concurrent.futures import ThreadPoolExecutor  # late: 0.2 MB of each switch that runs

    with ThreadPoolExecutor(min(len(natives), CLOSERS)) as pool:
        list(pool.map(NativeSwitch.close, natives))


def _connect_process(native: NativeSwitch, port: int, memory: int, bell: int, end: int) -> None:
    try:
        for descriptor in (memory, bell):
            # what a child had of the bell would hide that this process has ended
            os.set_inheritable(descriptor, False)
        native.connect_process(port, memory, bell, end)
        os.close(memory)
    except (OSError, NativeError) as error:
        raise StartError(
            f"port {port}: --process-link {port}={memory}:{bell}:{end}: {error}"
        ) from error


def _ports(options: Options) -> str:
    names = [
        str(port) if interface is None else f"{port}@{interface}"
        for port, interface in options.interfaces
    ]
    return " ".join(names) or "none"


def _by_worker(natives: list[NativeSwitch]) -> list[list[NativeSwitch]]:
    """Returns one worker for two cores that this process may use: the others are for hosts.
    Neighbours share one."""
    workers = max(1, min(len(natives), len(os.sched_getaffinity(0)) // 2))
    size = -(-len(natives) // workers)
    return [natives[first : first + size] for first in range(0, len(natives), size)]


def _make(
    library: ctypes.CDLL, options: Options, engine: Engine | None, stack: ExitStack
) -> NativeSwitch:
    kind: Callable[..., NativeSwitch] = NativeSwitch
    if options.engine:
        assert engine is not None
        kind = partial(engine, weights=options.weights, arbitration=options.arbitration)
    native = stack.enter_context(
        kind(
            library,
            priorities=options.priorities,
            cpu_port=options.cpu_port,
            drop_port=options.drop_port,
            seed=options.seed,
            manual=options.manual_clock,
            tick_ns=options.tick_ns,
        )
    )
    if options.reentry_ns:
        native.set_reentry(options.reentry_ns)
    native.set_slack(options.slack_ns)
    for port, queue, packets in options.queue_depths:
        native.set_queue(port, queue, depth=packets)
    for port, queue, rate_pps in options.queue_rates:
        native.set_queue(port, queue, rate_pps=rate_pps)
    if options.trimming is not None:
        native.set_trimming(*options.trimming)
    if options.namespace is not None:
        native.keep_namespace()
    return native


def _trace(native: NativeSwitch, options: Options, stack: ExitStack) -> Tracer:
    from pcn.softswitch.trace.start import start  # late: few switches are traced

    tracer = start(native, options, _log(options))
    stack.callback(tracer.end)  # when the switch has stopped
    return tracer


def _prepare(
    native: NativeSwitch,
    objects: _Objects,
    options: Options,
    tracer: Tracer | None,
    counts: Counts | None,
    stack: ExitStack,
) -> None:
    """Ports, generator, program; all but the worker."""
    _add_ports(native, options)
    if options.pcap is not None:
        _capture(native, options, options.pcap)
    if options.generator is not None:
        native.generate(*options.generator)
    if options.program is not None:
        text = packed.read_text(options.program) if tracer is not None or counts is not None else ""
        if tracer is not None:
            tracer.loading(text)
        native.load(
            objects.programs[options.program, options.traced, counts is not None],
            counts.of(text) if counts is not None else None,
        )
    if options.pace is not None:
        _report_pace(native, *options.pace, stack)


def _offer(
    native: NativeSwitch,
    library: ctypes.CDLL,
    options: Options,
    tracer: Tracer | None,
    counts: Counts | None,
    stack: ExitStack,
    say: Callable[[str], None],
) -> Server:
    """Offers P4Runtime and gNMI, until the stack is closed."""
    pipeline = Pipeline(native, library, tracer, counts)
    stack.callback(pipeline.close)
    service = Service(native, pipeline, options.device_id, options.cpu_port)
    interfaces = [
        (port, interface) for port, interface in options.interfaces if interface is not None
    ]
    others = [*Gnmi(native, interfaces).methods()]
    services = [
        "p4.v1.P4Runtime",
        gnmi.SERVICE,
        *(["softswitch.ManualClock"] if options.manual_clock else []),
    ]
    others += Reflection(services).methods()
    tls = options.tls()
    server = Server(service, options.grpc_address, tls, others, options.message_bytes)
    stack.callback(_leave, server)
    stack.callback(server.end)  # its socket goes where it is never entered
    if options.thrift_port is not None:  # who waits for P4Runtime finds it
        _offer_thrift(service, pipeline, native, options, stack, say)
    stack.enter_context(server)
    if tls is None and not is_local(options.grpc_address):
        say(
            f"{server.address} has no authentication: every client that reaches it programs the "
            "switch; see --grpc-server-ssl and --grpc-server-with-client-auth"
        )
    return server


def _offer_thrift(
    service: Service,
    pipeline: Pipeline,
    native: NativeSwitch,
    options: Options,
    stack: ExitStack,
    say: Callable[[str], None],
) -> None:
    """BMv2's runtime interface. A program of the command line has entries then, too: those of its
    JSON."""
    from pcn.softswitch.thrift.server import ThriftServer  # late: few switches have it

    assert options.thrift_port is not None
    server = ThriftServer(service, native, options, options.thrift_port)
    stack.callback(server.stop)
    if options.program is not None:
        from pcn.softswitch.p4runtime.checked_config import of_json

        text = packed.read_text(options.program)
        pipeline.commit(of_json(text, traced=pipeline.traced, covered=pipeline.covered))
    server.start()
    say(f"device {options.device_id}: BMv2's runtime interface at 127.0.0.1:{server.port}")


def _leave(server: Server) -> None:
    """Ends the process where a request is at work that doesn't end, as a compilation: nothing below
    it may be freed."""
    if server.busy:
        log.warning("ending in the middle of a request")
        logging.shutdown()
        os._exit(0)


def _descriptors(switches: Sequence[Options]) -> int:
    """Returns how many descriptors the switches may need."""
    ports = sum(len(options.interfaces) for options in switches)
    clients = CONNECTIONS * sum(
        front.TLS_DESCRIPTORS if options.tls_files else front.DESCRIPTORS
        for options in switches
        if not options.grpc_address.startswith("unix:")
    )
    return DESCRIPTORS * len(switches) + 2 * ports + clients


def _add_ports(native: NativeSwitch, options: Options) -> None:
    share = max(ALL_RING_FRAMES // max(1, len(options.interfaces)), LEAST_RING_FRAMES)
    for port, interface in options.interfaces:
        try:
            native.port_add(port, interface, min(share, RING_FRAMES))
        except NativeError as error:
            raise StartError(f"port {port}: {error}") from error
    for port, shape in options.shapes().items():
        try:
            native.port_shape(port, rate_bps=shape.rate_bps, delay_ns=shape.delay_ns)
        except NativeError as error:
            raise StartError(f"port {port}: {error}") from error


def _capture(native: NativeSwitch, options: Options, folder: Path) -> None:
    """As BMv2 names the files: by the interface; of a port without one, by its number."""
    for port, interface in options.interfaces:
        for way in ("in", "out"):
            path = folder / f"{interface or port}_{way}.pcap"
            try:
                native.port_capture(port, out=way == "out", path=path)
            except NativeError as error:
                absent = error.code in (errno.ENOENT, errno.ENOTDIR)
                raise StartError(
                    f"--pcap: {error}{'; name a folder that is there' if absent else ''}"
                ) from error


def _report_pace(native: NativeSwitch, tolerance_ns: int, place: Place, stack: ExitStack) -> None:
    from pcn.softswitch.pace import Board  # late: the options brought it

    board = Board.open(place.board)
    board.begin(place.slot, tolerance_ns)
    stack.callback(board.end, place.slot)
    native.report_pace(board, place.slot)
