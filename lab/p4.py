"""A network of P4 switches on Mininet, as p4lang/tutorials have it: hosts with the kernel's network
stack, P4Runtime at TCP ports from 50051 on, device ids from 0.

Rates and delays of links are the switches' own. All switches share a process outside their
namespaces, where controllers reach it; links between switches are in its memory.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from pcn.base import owner_only, signals
from pcn.controller.switch import SwitchClient
from pcn.lab.journal import NO_SCHEME
from pcn.lab.launch import NetworkError
from pcn.lab.log_folder import new, remove_empty
from pcn.lab.network import Network
from pcn.lab.target import LaunchSpec, PortSpec
from pcn.p4net.entries import Written, failed, queues, write
from pcn.p4net.network import P4Network, P4Switch
from pcn.p4net.steps import Queue
from pcn.topologies.model import Endpoint

if TYPE_CHECKING:
    from pcn.lab.nodes import LabNode
    from pcn.p4net.coverage import Coverage

COUNTS = "coverage.json"
"""Of a network whose programs are covered: the file among its logs."""
FIRST_PORT = 50051
FIRST_THRIFT_PORT = 9090
ADDRESS = "127.0.0.1"
HOST_MTU = 1500


class P4Live(Network):
    """The network `value`, up and programmed. `written`: what came of entries, by switch; `strict`:
    as of VirtualP4. `notes`: hosts' commands that failed, a line each. `trace`: each step of each
    packet goes to SWITCH.steps.jsonl beside its log. `pcap`: the folder of captures of all ports.
    `covered`: when the network has ended, what packets ran through is in the file `counts`.
    `thrift`: BMv2's runtime interface of device n at 127.0.0.1, port 9090 + n. A context manager;
    raises as `Network`, and LabError for entries that can't be written."""

    def __init__(
        self,
        value: P4Network,
        *,
        log_dir: Path,
        name: str | None = None,
        role: str = "run",
        trace: bool = False,
        pcap: Path | None = None,
        thrift: bool = False,
        covered: bool = False,
        strict: bool = True,
        progress: Callable[[str], None] = lambda _text: None,
    ) -> None:
        super().__init__(
            value.topology, log_dir=log_dir, dilation=1.0, name=name, role=role, agents=False,
            processes=False,
            progress=progress,
        )  # fmt: skip
        self.value = value
        self._traced, self._pcap, self._thrift = trace, pcap, thrift
        self.counts = log_dir.absolute() / COUNTS if covered else None
        self.scheme = NO_SCHEME
        self._strict = strict
        self.written: dict[str, Written] = {}
        self.notes: list[str] = []
        self._queues = {
            name: queues(switch.entries, switch.program.schema, strict=strict)
            for name, switch in value.switches.items()
        }

    def __enter__(self) -> P4Live:
        super().__enter__()
        try:
            self._program()
        except BaseException:
            self.stop()
            raise
        return self

    def _prepare(self, name: str, node: LabNode) -> None:
        from pcn.lab.nodes import NodeError

        super()._prepare(name, node)
        if not self.topology.is_host(name):
            return
        host, settings = self.topology.host(name), self.value.host(name)
        ends = [Endpoint(name, port) for port in self.topology.ports(name)]
        interfaces = node.configure_kernel(
            [end.interface for end in ends], host.mac, f"{host.ip}/{settings.prefix}", HOST_MTU
        )
        for command in settings.commands:
            try:
                node.run(["sh", "-c", command])
            except NodeError as error:  # a route that is there, as in the multicast exercise
                self.notes.append(str(error))
        self.record.nodes[name].interfaces = interfaces
        self.record.note(self.record.nodes[name])

    def _spec(self, name: str) -> LaunchSpec:
        settings, device_id = self.value.switches[name], self.topology.switch(name).device_id
        address, thrift_port = (
            FIRST_PORT + device_id,
            FIRST_THRIFT_PORT + device_id if self._thrift else None,
        )
        for used in (address, thrift_port):
            _require_free(used)
        ports = []
        for port in self.topology.ports(name):
            link = self.topology.link_at(name, port)
            rate = 0.0 if link in self.value.unlimited else link.rate_bps
            ports.append(PortSpec(port, Endpoint(name, port).interface, rate, link.delay_s))
        return LaunchSpec(
            name=name,
            device_id=device_id,
            ports=tuple(ports),
            address=f"{ADDRESS}:{address}",
            queue_depth=settings.queue_depth,
            queue_options=_queue_options(self._queues[name], settings),
            priorities=settings.priority_queues,
            cpu_port=settings.cpu_port,
            trace=self._traced,
            pcap=self._pcap,
            coverage=self.counts,
            thrift_port=thrift_port,
        )

    def _spawn_switches(
        self, node: LabNode, command: list[str], log: str, *handles: int
    ) -> subprocess.Popen[bytes]:
        with self._logs.open(log) as output:
            return node.spawn_outside(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=handles,
            )

    def _program(self) -> None:
        """Loads programs and entries. The controllers' role stays free: one of the user's may take
        it."""
        self._progress("programs and entries")
        programs = []
        for name, running in self.switches.items():
            with closing(SwitchClient.connect(name, running.address, running.device_id)) as client:
                client.become_primary()
                settings = self.value.switches[name]
                programs.append(settings.program.name)
                client.set_pipeline(settings.program)
                self.written[name] = write(
                    client, settings.entries, lambda _queue: None, strict=self._strict
                )
        self.record.program = ", ".join(dict.fromkeys(programs))
        self.record.state = "up"
        self.record.save()


def _require_free(port: int | None) -> None:
    """Raises NetworkError if another process listens there: it might be a switch, which this
    network would program."""
    if port is None:
        return
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError as error:
            raise NetworkError(
                f"{ADDRESS}:{port}: {error.strerror}: end the network or the switch that has it "
                f"(`ss -ltnp sport = :{port}` names its process)"
            ) from None


def _queue_options(settings: list[Queue], switch: P4Switch) -> tuple[str, ...]:
    """Returns what the embedded switch's command line has of single queues, without those that
    ports lack."""
    words = ["--queue-rate", str(switch.queue_rate)]
    for step in settings:
        if step.queue is None or step.queue < switch.priority_queues:
            place = (
                ""
                if step.port is None
                else f"{step.port}="
                if step.queue is None
                else f"{step.port}/{step.queue}="
            )
            words += [f"--queue-{step.setting}", f"{place}{step.value}"]
    return tuple(words)


def hold(
    value: P4Network,
    name: str | None,
    logs: Path | None,
    say: Callable[[str], None],
    note: Callable[[str], None],
    *,
    trace: bool = False,
    pcap: Path | None = None,
    coverage: Coverage | None = None,
    thrift: bool = False,
    strict: bool = True,
    stay: Callable[[str], None] = lambda _name: signals.wait(),
) -> None:
    """Holds a network while `stay`, which gets its name, runs; by default until a signal:
    KeyboardInterrupt or `signals.Terminated`. `say` gets what is up, a line each, `note` the
    remarks and complaints. Raises as `P4Live`."""
    name = name or value.topology.name
    new_folders: list[Path] = []
    if logs is None:
        logs = new(Path("results") / "p4" / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}")
        new_folders.append(logs)
    if pcap is not None:
        pcap = pcap.absolute()
        if not pcap.exists():
            new_folders.append(pcap)
        try:
            owner_only.make_folder(pcap)
        except OSError as error:
            raise NetworkError(f"{error.filename}: {error.strerror}") from None
        except owner_only.NotPrivateError as error:
            raise NetworkError(error.line("name another folder for the captures")) from None
    live = P4Live(
        value,
        log_dir=logs,
        name=name,
        trace=trace,
        pcap=pcap,
        thrift=thrift,
        covered=coverage is not None,
        strict=strict,
    )
    up = False
    try:
        with live as network:
            up = True
            _show(value, network, logs, say, note)
            stay(name)
    finally:
        if up and coverage is not None and live.counts is not None:
            coverage.write_from(live.counts)  # which the switches have written as they ended
        if not up:
            for folder in new_folders:
                remove_empty(folder)


def _show(
    value: P4Network,
    network: P4Live,
    logs: Path,
    say: Callable[[str], None],
    note: Callable[[str], None],
) -> None:
    """Shows what is up."""
    for switch, written in network.written.items():
        for line in written.lines:
            say(f"{switch}: {line}")
        for complaint in written.complaints:
            note(complaint)
    for remark in (*network.notes, *filter(None, [network.features.get("priority")])):
        note(remark)
    for switch, running in network.switches.items():
        program = value.switches[switch].program.name
        say(f"{switch}: {program}, P4Runtime {running.address}, device {running.device_id}")
    src, dst = value.topology.hosts[0], value.topology.hosts[-1]
    say(
        f"{network.name} is up; logs in {logs}; Ctrl-C ends it. In another terminal: pcn p4 exec "
        f"{src.name} ping {dst.ip}"
    )
    if text := failed(network.written.values()):
        say(text)
