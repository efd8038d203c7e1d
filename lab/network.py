"""A topology brought to life with Mininet: namespaces, veths, a switch program or an agent in each;
undone, always.

    with Network(dumbbell(), dilation=400, log_dir=Path("logs")) as network:
        network.hosts["h0"].agent.start(...)

Links aren't shaped: rates and delays are the programs' own. Each end delays what it transmits. BMv2
can't; netem does it in its place, or, in a kernel without netem, the agents do: each sends as late
as the whole path is long, so that round trips are the topology's, but the switches' PFC frames
arrive at once.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from pcn.base import priority, signals
from pcn.base.python_process import python_command
from pcn.controller import marking
from pcn.hosts import wire
from pcn.hosts.lossy_classes import without_signal
from pcn.hosts.switch_clock import unfit
from pcn.lab import journal as records, pace
from pcn.lab.host_routes import route_hosts
from pcn.lab.launch import NetworkError, launch_spec, share_process, slack
from pcn.lab.log_folder import LogFolder
from pcn.lab.memory_links import MemoryLinks
from pcn.lab.preflight import require_startable
from pcn.lab.process import StartError, wait_ready
from pcn.lab.target import (
    EMBEDDED,
    QUEUE_DEPTH_PACKETS,
    LaunchSpec,
    SoftswitchTarget,
    Target,
    Together,
    target as find_target,
    tick_ns,
)
from pcn.topologies.model import Endpoint, Topology, Value
from pcn.topologies.serialise import to_dict

if TYPE_CHECKING:
    from pcn.hosts.algorithms import Configured
    from pcn.hosts.client import AgentClient
    from pcn.lab.nodes import LabNode

STEPS = "steps.jsonl"
"""Of a traced switch: the file beside its log."""
_TOGETHER_LOG = "switches.log"
START_LIMIT_S = 60.0  # the embedded switch may have to compile its runtime first
ETHERNET_HEADER_BYTES = 14

# Who delays: what `Network.features["link_delay"]` says.
DELAY_BY_ALL = "switches and agents"
DELAY_BY_NETEM = "netem and agents"
DELAY_BY_AGENTS = "agents alone, by the whole path: this kernel has no netem"


@dataclass(frozen=True)
class RunningSwitch:
    """A switch program that serves P4Runtime. `pid` is in the switch's namespace."""

    name: str
    device_id: int
    pid: int
    address: str
    log: Path
    spec: LaunchSpec


@dataclass(frozen=True)
class RunningHost:
    """A host's agent. `pid` is in the host's namespace; `log` is the agent's JSON lines, `stderr`
    its messages."""

    name: str
    pid: int
    control: Path
    log: Path
    stderr: Path
    agent: AgentClient


class Network:
    """A context manager. Inside it, every switch serves P4Runtime, as yet without a program, and
    every agent answers.

    Raises NetworkError, StartError, NodeError, TargetError or NameInUseError, with nothing left
    behind. SIGTERM and SIGHUP raise `signals.Terminated` while it lasts. Enter it in the main
    thread: what it starts dies with the thread that started it.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        log_dir: Path,
        target: str = "softswitch",
        dilation: float = 400.0,
        scheme: str = "pcn",
        scheme_parameters: Mapping[str, Value] | None = None,
        port_parameters: Mapping[float, Mapping[str, float]] = MappingProxyType({}),
        name: str | None = None,
        seed: int = 1,
        trace_s: float | None = None,
        role: str = "run",
        why_k: str = "",
        enough_k: float = 0.0,
        processes: bool = False,
        agents: bool = True,
        progress: Callable[[str], None] = lambda _text: None,
    ) -> None:
        if not dilation > 0:
            raise NetworkError(
                f"dilation {dilation:g}: time can be stretched by a positive factor only"
            )
        self.topology = topology
        self.target: Target = find_target(target)
        self.configured = configured(scheme, scheme_parameters or {}, port_parameters)
        for flow in topology.flows:
            if why := without_signal(topology, self.configured.scheme, flow.traffic_class):
                raise NetworkError(f"flow {flow.id}: {why}")
        self.dilation = dilation
        self.tick_ns = tick_ns(
            self.target, marking.tick_s(self.configured.scheme.marking), dilation
        )
        self.scheme = self.configured.scheme.reference
        self.scheme_parameters = dict(scheme_parameters or {})
        self.name = name or topology.name
        self.log_dir = log_dir
        self.seed = seed
        self.trace_s = trace_s
        self.role = role
        self.enough_k = enough_k
        self.processes = not share_process(self.target.name, processes)
        self.agents = agents
        self.switches: dict[str, RunningSwitch] = {}
        self.hosts: dict[str, RunningHost] = {}
        # The embedded switches of each process
        switches = [switch.name for switch in topology.switches]
        self._groups = [[name] for name in switches] if self.processes else [switches]
        if self.target.name not in EMBEDDED:
            self._groups = []
        # What the target and the kernel gave: {"link_delay": one of DELAY_BY_...}; "k": why.
        self.features: dict[str, str] = {"k": why_k} if why_k else {}
        self._progress = progress
        self._stack = contextlib.ExitStack()
        self._record: records.Record | None = None

    def __enter__(self) -> Network:
        try:
            self._stack.enter_context(signals.raising())
            with signals.deferred() as interrupt:
                self._start(interrupt.check)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends and removes everything. A signal that comes meanwhile waits. Does nothing the second
        time."""
        with signals.deferred():
            self._stack.close()
            self.switches.clear()
            self.hosts.clear()

    @property
    def record(self) -> records.Record:
        if self._record is None:
            raise NetworkError("the network isn't up")
        return self._record

    def node_pid(self, name: str) -> int:
        """Returns a process in the node's namespace, for nsenter and the like."""
        return self.record.nodes[name].shell.pid

    def _start(self, check: Callable[[], None]) -> None:
        require_startable(self.topology, self.target, self.name)
        from pcn.lab.nodes import LabNet

        directory = self._stack.enter_context(records.owned(self.name))
        board = pace.make_board(to_dict(self.topology), self.role)
        self._stack.callback(board.close)
        self._logs = self._stack.enter_context(LogFolder(self.log_dir))
        self._record = records.Record(
            name=self.name,
            owner=records.Process.of(os.getpid()),
            topology=to_dict(self.topology),
            target=self.target.name,
            dilation=self.dilation,
            scheme=self.scheme,
            program="",
            log_dir=str(self.log_dir.resolve()),
            role=self.role,
            enough_k=self.enough_k,
            board=str(board.path),
            marking=list(self.configured.scheme.marking),
        )
        self._record.save()
        check()
        self._progress("namespaces and links")
        net = LabNet(self.topology)
        self._stack.callback(net.close)
        net.build()
        nodes = net.lab_nodes()
        for name, node in nodes.items():
            check()
            self._prepare(name, node)
        self.features["link_delay"] = self._who_delays(nodes[self.topology.switches[0].name])
        if priority.refused():
            self.features["priority"] = priority.REFUSED
        if remark := unfit(self.topology, self.configured, self.tick_ns / 1e9 / self.dilation):
            self.features["telemetry"] = remark
        self.features["slack"] = slack(self.target.name, self.dilation, self.agents)
        self._links = MemoryLinks(self.topology, self._groups, self.agents)
        self._stack.callback(self._links.close)
        self._progress("switches")
        switches = self._start_switches(nodes, check)
        hosts = []
        if self.agents:
            self._progress("agents")
            hosts = [self._start_agent(nodes[host.name], directory) for host in self.topology.hosts]
        self._links.close()
        for finish in (*switches, *hosts):
            finish(check)
        self._record.features = dict(self.features)
        self._record.save()

    def _prepare(self, name: str, node: LabNode) -> None:
        ends = [Endpoint(name, port) for port in self.topology.ports(name)]
        mac = self.topology.host(name).mac if self.topology.is_host(name) else None
        node.prepare_interfaces([end.interface for end in ends], [mac] * len(ends), self._mtu())
        self.record.note(
            records.NodeRecord(name, records.Process.of(node.pid), [end.interface for end in ends])
        )

    def _mtu(self) -> int:
        """Returns the MTU of every interface: payload of Ethernet in bytes, as Linux counts it."""
        return self.target.mtu(self._frame_bytes() - ETHERNET_HEADER_BYTES)

    def _frame_bytes(self) -> int:
        """Returns the length of the longest data packet: the topology's MTU, and room for
        telemetry."""
        return (
            int(self.topology.number("mtu_bytes"))
            + wire.TELEMETRY_BYTES * self.configured.wants_telemetry
        )

    def _spec(self, name: str) -> LaunchSpec:
        from pcn.controller.configure import packet_generator

        generator = packet_generator(self.topology, name, self.dilation, self.configured)
        address = self.record.directory / f"{name}.grpc"
        return launch_spec(
            self.topology, name, self.dilation, address, self.seed, generator, self._place(name),
            self._frame_bytes(),
            self.tick_ns, self.target.name,
        )  # fmt: skip

    def _place(self, name: str) -> str:
        return f"{self.record.board}:{pace.slot_of(self.record.topology, name)}"

    def _start_switches(
        self, nodes: Mapping[str, LabNode], check: Callable[[], None]
    ) -> list[Callable[[Callable[[], None]], None]]:
        """Starts all; what waits for each."""
        if self._groups:
            return [finish for names in self._groups for finish in self._start_group(nodes, names)]
        return [self._start_switch(nodes[switch.name], check) for switch in self.topology.switches]

    def _start_group(
        self, nodes: Mapping[str, LabNode], names: Sequence[str]
    ) -> list[Callable[[Callable[[], None]], None]]:
        """Starts a process of embedded switches. What it writes beside their logs is in the log of
        its only one."""
        specs = {name: self._spec(name) for name in names}
        output = f"{names[0]}.log" if self.processes else _TOGETHER_LOG
        with contextlib.ExitStack() as stack:

            def file(name: str, append: bool) -> int:
                return stack.enter_context(self._logs.open(name, append)).fileno()

            logs = (
                {} if self.processes else {name: file(f"{name}.log", append=True) for name in names}
            )
            traces = {
                name: file(f"{name}.{STEPS}", append=False)
                for name, spec in specs.items()
                if spec.trace
            }
            together = [
                Together(
                    spec,
                    nodes[name].pid,
                    f"/proc/self/fd/{logs[name]}" if name in logs else None,
                    self._links.inner(name),
                    self._links.of(name),
                    f"/proc/self/fd/{traces[name]}" if name in traces else None,
                )
                for name, spec in specs.items()
            ]
            assert isinstance(self.target, SoftswitchTarget)
            command = self.target.together(
                together, self.record.directory / f"{Path(output).stem}.options"
            )
            handles = *logs.values(), *traces.values(), *self._links.descriptors(names)
            process = self._spawn_switches(nodes[names[0]], command, output, *handles)
        finish = []
        for name, spec in specs.items():
            log = self.log_dir / f"{name}.log"
            self._note(nodes[name], process, spec.address, log)
            finish.append(
                self._finish_switch(nodes[name], process, spec, log, self.log_dir / output)
            )
        return finish

    def _start_switch(
        self, node: LabNode, check: Callable[[], None]
    ) -> Callable[[Callable[[], None]], None]:
        spec = self._spec(node.name)
        if self.features["link_delay"] == DELAY_BY_NETEM:
            for port in spec.ports:
                self._netem(node, port.interface, port.delay_s)
        log = self.log_dir / f"{node.name}.log"
        process = self._spawn(node, self.target.command(spec), log.name)
        self._note(node, process, spec.address, log)
        return self._finish_switch(node, process, spec, log, log)

    def _finish_switch(
        self,
        node: LabNode,
        process: subprocess.Popen[bytes],
        spec: LaunchSpec,
        log: Path,
        stderr: Path,
    ) -> Callable[[Callable[[], None]], None]:
        def finish(check: Callable[[], None]) -> None:
            wait_ready(
                node.name,
                process,
                stderr,
                lambda: answers(spec.address) and self.target.ready(node.pid),
                check,
                START_LIMIT_S,
            )
            self.target.configure(spec, node.pid)
            self.switches[node.name] = RunningSwitch(
                node.name, spec.device_id, process.pid, spec.address, log, spec
            )

        return finish

    def _who_delays(self, node: LabNode) -> str:
        from pcn.lab.nodes import NodeError

        if self.target.shapes_delay:
            return DELAY_BY_ALL
        interface = Endpoint(node.name, self.topology.ports(node.name)[0]).interface
        try:
            self._netem(node, interface, 1e-3)
        except NodeError as error:
            if "unknown" in str(error):
                return DELAY_BY_AGENTS
            raise
        node.run(["tc", "qdisc", "del", "dev", interface, "root"])
        return DELAY_BY_NETEM

    def _netem(self, node: LabNode, interface: str, delay_s: float) -> None:
        limit = str(QUEUE_DEPTH_PACKETS)
        delay = ["netem", "delay", f"{delay_s * 1e6:.0f}us", "limit", limit]
        node.run(["tc", "qdisc", "add", "dev", interface, "root", *delay])

    def _agent_delay_s(self, host: str, port: int) -> float:
        """Returns a nominal delay: of the port's link, or of its longest path where nothing else
        delays."""
        if self.features["link_delay"] == DELAY_BY_AGENTS:
            others = [peer.name for peer in self.topology.hosts if peer.name != host]
            return max((self.topology.rtt_s(host, peer) for peer in others), default=0.0) / 2
        return self.topology.link_at(host, port).delay_s

    def _start_agent(self, node: LabNode, directory: Path) -> Callable[[Callable[[], None]], None]:
        from pcn.hosts.client import AgentClient

        host = self.topology.host(node.name)
        control = directory / f"{host.name}.sock"
        log, stderr = self.log_dir / f"{host.name}.jsonl", self.log_dir / f"{host.name}.log"
        parameters = [
            part
            for key, value in self.scheme_parameters.items()
            for part in ("--param", f"{key}={value}")
        ]
        events = self._logs.open(log.name, append=True)
        command = [
            *python_command(
                "pcn.hosts.agent", "--name", host.name, "--mac", host.mac, "--ip", host.ip
            ),
            *(
                "--dilation",
                repr(self.dilation),
                "--switch-tick",
                repr(self.tick_ns / 1e9),
                "--scheme",
                self.scheme,
                *parameters,
                "--seed",
                str(self.seed),
            ),
            *(
                part
                for port in self.topology.ports(host.name)
                for part in self._nic(host.name, port)
            ),
            *("--pace", f"{pace.tolerance_s(self.dilation)!r}@{self._place(node.name)}"),
            *("--control", str(control), "--log", f"/proc/self/fd/{events.fileno()}"),
            *(("--trace", repr(self.trace_s)) if self.trace_s is not None else ()),
        ]
        with events:
            process = self._spawn(
                node, command, stderr.name, events.fileno(), *self._links.descriptors([host.name])
            )
        self._note(node, process, str(control), log)

        def finish(check: Callable[[], None]) -> None:
            wait_ready(
                f"{host.name}'s agent",
                process,
                stderr,
                lambda: connects(str(control)),
                check,
                START_LIMIT_S,
            )
            agent = self._stack.enter_context(contextlib.closing(AgentClient(control)))
            self.hosts[host.name] = RunningHost(host.name, process.pid, control, log, stderr, agent)
            route_hosts(self.topology, {host.name: agent}, self.topology.routing)

        return finish

    def _nic(self, host: str, port: int) -> list[str]:
        """Returns what an agent's options have of a port."""
        link = self._links.of(host).get(port)
        return [
            *("--iface", Endpoint(host, port).interface),
            *("--line-rate", repr(self.topology.link_at(host, port).rate_bps)),
            *("--delay", repr(self._agent_delay_s(host, port))),
            *(("--link", f"{link[0]}:{link[1]}") if link is not None else ()),
        ]

    def _spawn(
        self, node: LabNode, command: list[str], log: str, *handles: int
    ) -> subprocess.Popen[bytes]:
        """Starts a process in a node. `log`: the file for what it writes; `handles`: files of ours
        that it gets as well."""
        with self._logs.open(log) as output:
            return node.spawn(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=handles,
            )

    def _spawn_switches(
        self, node: LabNode, command: list[str], log: str, *handles: int
    ) -> subprocess.Popen[bytes]:
        """Starts a process of embedded switches, which opens their interfaces in their namespaces
        itself. `node`: of one of them; otherwise as `_spawn`."""
        return self._spawn(node, command, log, *handles)

    def _note(
        self, node: LabNode, process: subprocess.Popen[bytes], control: str, log: Path
    ) -> None:
        entry = self.record.nodes[node.name]
        entry.process, entry.control, entry.log = (
            records.Process.of(process.pid),
            control,
            str(log.resolve()),
        )
        self.record.note(entry)


def configured(
    scheme: str,
    parameters: Mapping[str, Value],
    port_parameters: Mapping[float, Mapping[str, float]] = MappingProxyType({}),
) -> Configured:
    """Refuses what every agent would refuse, once, and before anything is made."""
    from pcn.hosts.algorithms import SchemeError, find_scheme

    try:
        return find_scheme(scheme).configure(parameters, port_parameters)
    except SchemeError as error:
        raise NetworkError(str(error)) from None


def answers(address: str) -> bool:
    """Returns whether something listens at a gRPC address: unix:PATH, or HOST:PORT."""
    if address.startswith("unix:"):
        return connects(address.removeprefix("unix:"))
    host, _, port = address.rpartition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        return probe.connect_ex((host, int(port))) == 0


def connects(path: str) -> bool:
    """Returns whether something listens on this Unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(path) == 0


__all__ = ["Network", "NetworkError", "RunningHost", "RunningSwitch", "StartError"]
